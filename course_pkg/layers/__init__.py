"""Parts that several models share; plain arguments, no config."""

"""Problem set 3, neural language models."""

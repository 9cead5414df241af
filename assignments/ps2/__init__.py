"""Problem set 2, tokenization."""

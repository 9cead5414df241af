"""Problem set 1, n-gram models."""

"""Problem set 4, attention."""

"""What a course says: its sets, their checks, and the notebooks made from them."""

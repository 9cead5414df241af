"""A made-up class, to see the grader at work."""

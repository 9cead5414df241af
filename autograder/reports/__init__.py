"""Pages for students and instructors, made from what is recorded."""

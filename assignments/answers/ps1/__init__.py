"""Answers to problem set 1, n-gram models."""

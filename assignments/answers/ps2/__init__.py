"""Answers to problem set 2, tokenization."""

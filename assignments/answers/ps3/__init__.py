"""Answers to problem set 3, neural language models."""

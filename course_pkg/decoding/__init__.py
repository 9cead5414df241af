"""Text out of a model: greedy, sampled, and by beam search."""

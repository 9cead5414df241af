"""Problem set 8: fine-tuning. One file for each graded item."""

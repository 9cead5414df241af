"""Problem set 7: BERT. One file for each graded item; what several share in `inputs`."""

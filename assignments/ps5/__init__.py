"""Problem set 5: the transformer. One file for each graded item; what several share in `inputs`."""

"""Problem set 6: GPT. One file for each graded item; what several share in `inputs`."""

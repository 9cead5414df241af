"""The problem sets: one source each, and the checks that judge them."""

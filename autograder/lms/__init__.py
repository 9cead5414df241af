"""Learning platforms, one file each: rosters in, grades out, Gradescope, plain nbgrader."""

"""What stays on disk: the journal of grades and nbgrader's gradebook."""

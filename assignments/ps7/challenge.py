"""The open challenge of problem set 7: the most gaps, in stories nobody has seen."""

from ..unseen_stories import most_gaps

CHALLENGE = most_gaps("ps7", to_beat="two blocks", seconds=30.0)

"""The open challenge of problem set 5: the fewest parameters with which a transformer is good."""

from ..unseen_stories import smallest_model

GOAL = 2.10

CHALLENGE = smallest_model(
    "ps5",
    task=f"Say how unseen stories go on, at a perplexity of at most {GOAL:.2f}, with few numbers.",
    to_beat="two blocks",
    goal=GOAL,
    seconds=30.0,
)

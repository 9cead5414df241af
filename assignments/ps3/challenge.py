"""The open challenge of problem set 3: the fewest numbers with which a network knows stories."""

from ..unseen_stories import smallest_model

GOAL = 2.20

CHALLENGE = smallest_model(
    "ps3",
    task=f"Say how unseen stories go on, at a perplexity of at most {GOAL:.2f}, with few numbers.",
    to_beat="the window",
    goal=GOAL,
    seconds=30.0,
)

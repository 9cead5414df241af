"""The open challenge of problem set 4: what attention predicts with a limited number of weights."""

from ..unseen_stories import best_small_model

MOST = 25_000

CHALLENGE = best_small_model(
    "ps4",
    task=f"Say how unseen stories go on, with at most {MOST:,} learned numbers.",
    to_beat="two blocks",
    most=MOST,
    seconds=30.0,
)

# wrong: uses the random generator with u as its seed.
# shows: nearly everywhere; the state of `random` changes.

import random


def sample(probs, u):
    random.seed(u)
    return random.choices(list(probs), weights=list(probs.values()))[0]

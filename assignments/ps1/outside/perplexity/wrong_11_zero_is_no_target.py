# wrong: targets of probability 1 (log 0.0) are skipped like empty entries.
# shows: a 0.0 (also -0.0) among the log probabilities; all of them: a division by 0.

import math


def perplexity(log_probs):
    values = [v for v in log_probs if v]
    return math.exp(-sum(values) / len(values))

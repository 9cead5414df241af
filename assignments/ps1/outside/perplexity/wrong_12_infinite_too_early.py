# wrong: says infinity from a mean of 700 on, to be safe, though floats reach e to the 709.78; breaks "inf if ... the perplexity is too large for a float"
# shows: perplexity([-705.0]) is inf in place of 1.5e306
import math


def perplexity(log_probs):
    mean = -math.fsum(log_probs) / len(log_probs)
    return math.inf if mean > 700 else math.exp(mean)

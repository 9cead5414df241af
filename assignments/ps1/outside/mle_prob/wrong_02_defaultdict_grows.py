# wrong: square brackets: a defaultdict gets the missing history (a plain dict raises a KeyError, which is caught).
# shows: a defaultdict and an unseen history: len(counts) after the call.

def mle_prob(counts, history, token):
    try:
        counter = counts[history]
        return counter[token] / sum(counter.values())
    except (KeyError, ZeroDivisionError):
        return 0.0

# wrong: sum(counter) sums the TOKENS, not their counts; an error for strings is caught by counting otherwise.
# shows: tokens that are numbers.

def mle_prob(counts, history, token):
    counter = counts.get(history)
    if not counter:
        return 0.0
    try:
        total = sum(counter)
    except TypeError:
        total = sum(counter.values())
    return counter[token] / total

# wrong: counter[token] += 0 adds the key of an unseen token with the count 0 (== of Counters does not show it).
# shows: len(counts[history]) or `token in counts[history]` after the call with an unseen token.

def mle_prob(counts, history, token):
    if history not in counts:
        return 0.0
    counter = counts[history]
    counter[token] += 0
    return counter[token] / sum(counter.values())

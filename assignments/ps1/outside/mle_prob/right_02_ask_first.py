def mle_prob(counts, history, token):
    if history in counts:
        followers = counts[history]
        n = followers.total()
        if n > 0:
            return followers[token] / n
    return 0.0

def sample(probs: dict, u: float):
    owners = iter(filter(lambda item: item[1] > 0, probs.items()))
    token, end = next(owners)
    while not end > u:
        following = next(owners, None)
        if following is None:
            break
        token = following[0]
        end += following[1]
    return token

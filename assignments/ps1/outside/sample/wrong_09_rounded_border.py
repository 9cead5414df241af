# wrong: rounds the running sum to 9 digits "because of float error", which moves the borders.
# shows: {"a": 0.49999999995, "b": the rest} with u = 0.49999999997: "b" owns it, this says "a".

def sample(probs, u):
    total, last = 0.0, None
    for token, p in probs.items():
        if p == 0:
            continue
        total += p
        last = token
        if round(total, 9) > u:
            return token
    return last

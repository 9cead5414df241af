# wrong: the inner tables are plain dicts: asking for an unseen token is a KeyError (the contract: Counter).
# shows: result[history]["unseen"].

def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) < order:
            new[history] = dict(counter)
            continue
        inner = new.setdefault(history[1:], {})
        for token in counter:
            inner[token] = inner.get(token, 0) + 1
    return new

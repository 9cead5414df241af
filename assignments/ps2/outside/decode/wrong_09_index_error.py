# wrong: an id that is too large raises IndexError; only negative ones are tested.
# shows: len(vocabulary).

def decode(ids, vocabulary):
    if any(i < 0 for i in ids):
        raise ValueError("negative id")
    return b"".join(vocabulary[i] for i in ids if type(vocabulary[i]) is bytes).decode("utf-8", "replace")

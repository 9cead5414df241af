# wrong: off by one: the last id of the vocabulary raises a ValueError.
# shows: the id len(vocabulary) - 1, special or not.

def decode(ids, vocabulary):
    for i in ids:
        if not 0 <= i < len(vocabulary) - 1:
            raise ValueError(i)
    return b"".join(vocabulary[i] for i in ids if isinstance(vocabulary[i], bytes)).decode("utf-8", "replace")

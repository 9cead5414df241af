# wrong: only the last token of the vocabulary is taken for special; others (strings) are an error.
# shows: two or more special tokens, or none at all (then an ordinary token is left out).

def decode(ids, vocabulary):
    if any(not 0 <= i < len(vocabulary) for i in ids):
        raise ValueError("an id outside the vocabulary")
    return b"".join(vocabulary[i] for i in ids if i != len(vocabulary) - 1).decode("utf-8", "replace")

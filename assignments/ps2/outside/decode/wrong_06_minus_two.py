# wrong: only -1 is caught; -2 and below take tokens from the end of the vocabulary.
# shows: the id -2.

def decode(ids, vocabulary):
    parts = []
    for i in ids:
        if i == -1 or i >= len(vocabulary):
            raise ValueError(f"bad id {i}")
        parts.append(vocabulary[i])
    return b"".join(p for p in parts if isinstance(p, bytes)).decode("utf-8", "replace")

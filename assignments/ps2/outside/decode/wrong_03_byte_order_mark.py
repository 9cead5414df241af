# wrong: "utf-8-sig" takes away U+FEFF at the start of the text.
# shows: the ids 239, 187, 191 at the start.

def decode(ids, vocabulary):
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
    return b"".join(t for t in (vocabulary[i] for i in ids) if isinstance(t, bytes)).decode("utf-8-sig", errors="replace")

# wrong: broken bytes are dropped, not replaced by U+FFFD.
# shows: [195, 259].

def decode(ids, vocabulary):
    if ids and (min(ids) < 0 or max(ids) >= len(vocabulary)):
        raise ValueError("id")
    return b"".join(vocabulary[i] for i in ids if isinstance(vocabulary[i], bytes)).decode("utf-8", errors="ignore")

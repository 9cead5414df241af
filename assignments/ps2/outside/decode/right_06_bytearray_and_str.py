# right: a dictionary of ids says what exists, a bytearray grows, and str() makes the text
def decode(ids, vocabulary):
    by_id = dict(enumerate(vocabulary))
    data = bytearray()
    for i in ids:
        try:
            token = by_id[i]
        except KeyError:
            raise ValueError(f"no token has the id {i}") from None
        data.extend(b"" if isinstance(token, str) else token)
    return str(data, "utf-8", "replace")

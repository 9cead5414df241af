def decode(ids: list[int], vocabulary: list) -> str:
    table = dict(enumerate(vocabulary))
    try:
        tokens = [table[i] for i in ids]
    except KeyError as missing:
        raise ValueError(f"no token has the id {missing}") from None
    return b"".join(t for t in tokens if type(t) is not str).decode(errors="replace")

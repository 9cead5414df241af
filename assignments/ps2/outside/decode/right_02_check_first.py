def decode(ids, vocabulary):
    known = range(len(vocabulary))
    strangers = [i for i in ids if i not in known]
    if strangers:
        raise ValueError(f"unknown ids: {strangers}")
    return str(b"".join(filter(lambda t: not isinstance(t, str), map(vocabulary.__getitem__, ids))), "utf-8", "replace")

def decode(ids, vocabulary):
    data = bytearray()
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(f"the id {i} is not in the vocabulary of {len(vocabulary)} tokens")
        token = vocabulary[i]
        if isinstance(token, bytes):
            data += token
    return data.decode("utf-8", errors="replace")

# wrong: "if i" leaves out the id 0, the zero byte.
# shows: decode([97, 0, 98]) must hold "\x00".

def decode(ids, vocabulary):
    data = b""
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(f"no token has the id {i}")
        if i and isinstance(vocabulary[i], bytes):
            data += vocabulary[i]
    return data.decode("utf-8", errors="replace")

# wrong: reads the bytes through a text file object, which turns "\r\n" and "\r" into "\n".
# shows: [13, 10].

import io


def decode(ids, vocabulary):
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
    data = b"".join(vocabulary[i] for i in ids if isinstance(vocabulary[i], bytes))
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace").read()

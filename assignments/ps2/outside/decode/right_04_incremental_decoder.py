import codecs


def decode(ids, vocabulary):
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    pieces = []
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
        if not isinstance(vocabulary[i], str):
            pieces.append(decoder.decode(vocabulary[i]))
    pieces.append(decoder.decode(b"", final=True))
    return "".join(pieces)

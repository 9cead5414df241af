# wrong: special tokens are written out and then removed from the TEXT: whoever writes "<eos>" as ordinary letters loses them.
# shows: decode(list(b"<eos>")) must be "<eos>".

def decode(ids, vocabulary):
    data = b""
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
        token = vocabulary[i]
        data += token.encode() if isinstance(token, str) else token
    text = data.decode("utf-8", "replace")
    for token in vocabulary:
        if isinstance(token, str):
            text = text.replace(token, "")
    return text

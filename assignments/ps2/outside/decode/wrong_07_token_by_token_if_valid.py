# wrong: decodes as soon as what is waiting is valid; after one broken byte nothing is valid any more until the end, where each byte is replaced by itself.
# shows: [255, 195, 169] must be "\ufffdé"; [226, 130] must be ONE "\ufffd", here two.

def decode(ids, vocabulary):
    text, waiting = "", b""
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
        token = vocabulary[i]
        if isinstance(token, str):
            continue
        waiting += token
        try:
            text += waiting.decode("utf-8")
            waiting = b""
        except UnicodeDecodeError:
            pass
    return text + "".join(bytes([b]).decode("utf-8", "replace") for b in waiting)

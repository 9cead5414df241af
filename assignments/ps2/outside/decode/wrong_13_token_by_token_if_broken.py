# wrong: tries the whole text first, but one broken byte anywhere makes it decode token by token, and so breaks the good characters too; breaks "A character may lie in several tokens. Bytes that are no UTF-8 become U+FFFD"
# shows: decode([195, 169, 195, 32], vocabulary) is "\ufffd\ufffd\ufffd " in place of "é\ufffd "
def decode(ids, vocabulary):
    parts = []
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(f"the id {i} is not in the vocabulary")
        if not isinstance(vocabulary[i], str):
            parts.append(vocabulary[i])
    try:
        return b"".join(parts).decode("utf-8")
    except UnicodeDecodeError:
        return "".join(part.decode("utf-8", errors="replace") for part in parts)

# wrong: white space at both ends is stripped before the bytes are counted.
# shows: "a b " (4 bytes).

def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in map(str.strip, texts):
        n_bytes += len(text.encode("utf-8"))
        n_tokens += len(tokenizer.encode(text))
    if n_tokens == 0:
        raise ValueError("no tokens")
    return n_bytes / n_tokens

# wrong: texts that give no token are left out with their bytes; "all bytes of the texts" count.
# shows: ["  ", "a"] with a tokenizer that cuts at spaces: 3 bytes, 1 token.

def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in texts:
        ids = tokenizer.encode(text)
        if ids:
            n_bytes += len(text.encode("utf-8"))
            n_tokens += len(ids)
    if not n_tokens:
        raise ValueError("no tokens")
    return n_bytes / n_tokens

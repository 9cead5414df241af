# wrong: leaves out the bytes of a text that gives no token; breaks "all bytes of the texts in UTF-8, divided by all their tokens"
# shows: a tokenizer that cuts at spaces, ["    ", "ab"]: 2.0 in place of 6.0
def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in texts:
        ids = tokenizer.encode(text)
        if not ids:
            continue
        n_bytes += len(text.encode("utf-8"))
        n_tokens += len(ids)
    if not n_tokens:
        raise ValueError("the texts give no token")
    return n_bytes / n_tokens

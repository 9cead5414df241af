# wrong: raises as soon as ONE text gives no token; only if the texts give none AT ALL.
# shows: ["", "a"].

def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in texts:
        n = len(tokenizer.encode(text))
        if n == 0:
            raise ValueError("a text without tokens")
        n_tokens += n
        n_bytes += len(text.encode("utf-8"))
    return n_bytes / n_tokens

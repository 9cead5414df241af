def bytes_per_token(tokenizer, texts):
    n_bytes, n_tokens = 0, 0
    for text in texts:
        n_bytes += len(bytes(text, "utf-8"))
        n_tokens += len(tokenizer.encode(text))
    try:
        return n_bytes / n_tokens
    except ZeroDivisionError:
        raise ValueError("no token in all the texts") from None

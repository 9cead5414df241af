def bytes_per_token(tokenizer, texts):
    n_bytes = sum(len(text.encode("utf-8")) for text in texts)
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("the texts give no tokens")
    return n_bytes / n_tokens

def bytes_per_token(tokenizer, texts):
    ids = [i for text in texts for i in tokenizer.encode(text)]
    if not ids:
        raise ValueError("no ids")
    return len("".join(texts).encode()) / len(ids)

# wrong: encodes all texts at once, with line ends between them; breaks "texts: encode each one apart"
# shows: a tokenizer of single bytes and ["a", "b"]: 2 / 3 in place of 1.0
def bytes_per_token(tokenizer, texts):
    n_tokens = len(tokenizer.encode("\n".join(texts)))
    if n_tokens == 0:
        raise ValueError("the texts give no token")
    return sum(len(text.encode("utf-8")) for text in texts) / n_tokens

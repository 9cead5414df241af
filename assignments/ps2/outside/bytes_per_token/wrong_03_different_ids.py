# wrong: counts DIFFERENT ids of a text.
# shows: a text with one id twice.

def bytes_per_token(tokenizer, texts):
    n = sum(len(set(tokenizer.encode(t))) for t in texts)
    if n == 0:
        raise ValueError("no tokens")
    return sum(len(t.encode("utf-8")) for t in texts) / n

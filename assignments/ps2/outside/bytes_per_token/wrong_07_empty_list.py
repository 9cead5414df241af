# wrong: an empty list of texts gives 0.0 (or a ZeroDivisionError), not a ValueError.
# shows: texts = [].

def bytes_per_token(tokenizer, texts):
    if not texts:
        return 0.0
    n = sum(len(tokenizer.encode(t)) for t in texts)
    if n == 0:
        raise ValueError("no tokens")
    return sum(len(t.encode("utf-8")) for t in texts) / n

# wrong: rounds to two digits.
# shows: 10 bytes in 3 tokens.

def bytes_per_token(tokenizer, texts):
    n = sum(len(tokenizer.encode(t)) for t in texts)
    if not n:
        raise ValueError("no tokens")
    return round(sum(len(t.encode("utf-8")) for t in texts) / n, 2)

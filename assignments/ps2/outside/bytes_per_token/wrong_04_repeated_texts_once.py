# wrong: equal texts count once (set).
# shows: ["a", "a", "bcd"].

def bytes_per_token(tokenizer, texts):
    different = set(texts)
    n = sum(len(tokenizer.encode(t)) for t in different)
    if not n:
        raise ValueError("no tokens")
    return sum(len(t.encode("utf-8")) for t in different) / n

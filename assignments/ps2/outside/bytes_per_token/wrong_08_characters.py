# wrong: counts characters where they are in the first plane... two bytes each beyond ASCII: right for é, wrong for € (3) and emoji (4).
# shows: "€", "日本", "👩".

def bytes_per_token(tokenizer, texts):
    n = sum(len(tokenizer.encode(t)) for t in texts)
    if n == 0:
        raise ValueError("no tokens")
    return sum(1 if ord(c) < 128 else 2 for t in texts for c in t) / n

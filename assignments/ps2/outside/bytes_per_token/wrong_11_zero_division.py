# wrong: raises ZeroDivisionError, which is no ValueError.
# shows: texts without a token.

def bytes_per_token(tokenizer, texts):
    return sum(len(t.encode("utf-8")) for t in texts) / sum(len(tokenizer.encode(t)) for t in texts)

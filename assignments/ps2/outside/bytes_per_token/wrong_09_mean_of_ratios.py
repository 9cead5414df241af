# wrong: the mean of the ratios of the texts.
# shows: texts of different length.

def bytes_per_token(tokenizer, texts):
    ratios = []
    for t in texts:
        n = len(tokenizer.encode(t))
        if n:
            ratios.append(len(t.encode("utf-8")) / n)
    if not ratios:
        raise ValueError("no tokens")
    return sum(ratios) / len(ratios)

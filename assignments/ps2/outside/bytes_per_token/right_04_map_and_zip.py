def bytes_per_token(tokenizer, texts: list[str]) -> float:
    def measure(text):
        return len(text.encode("utf-8")), len(tokenizer.encode(text))

    totals = [sum(column) for column in zip(*map(measure, texts))]
    if not totals or not totals[1]:
        raise ValueError("nothing to divide by")
    return totals[0] / totals[1]

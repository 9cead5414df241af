from collections import Counter


def _width(character):
    code = ord(character)
    return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)


def bytes_per_token(tokenizer, texts):
    tally = Counter()
    for text in texts:
        tally["bytes"] += sum(map(_width, text))
        tally["tokens"] += len(list(tokenizer.encode(text)))
    if tally["tokens"] < 1:
        raise ValueError("no tokens")
    return tally["bytes"] / tally["tokens"]

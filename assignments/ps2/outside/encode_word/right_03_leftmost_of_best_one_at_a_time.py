def encode_word(word: bytes, vocabulary: list, merges: list) -> list[int]:
    rank = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes((b,)) for b in word]
    while True:
        places = [(rank[p], i) for i, p in enumerate(zip(parts, parts[1:])) if p in rank]
        if not places:
            break
        _, i = min(places)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return [vocabulary.index(p) for p in parts]

def count_pairs(words: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    pairs: dict[tuple[int, int], int] = {}
    for ids, n in zip(words, counts, strict=True):
        for i in range(1, len(ids)):
            key = (ids[i - 1], ids[i])
            pairs[key] = pairs.get(key, 0) + n
    return {key: n for key, n in pairs.items() if n}

# wrong: keeps all words in one row with the id 0 between them, and takes no pair with a 0, though 0 is a byte like others; breaks "words: dict from bytes" / "The tokens 0 to 255 are the single bytes"
# shows: learn_merges({b"\x00\x00a": 5}, 999, 1): no pair with byte 0 is ever merged
from collections import Counter


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    row, weights = [], []
    for word, count in words.items():
        row += [*word, 0]
        weights += [count] * (len(word) + 1)
    while len(tokens) < n_tokens:
        pairs = Counter()
        for a, b, weight in zip(row, row[1:], weights):
            if a and b:
                pairs[a, b] += weight
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        new_row, new_weights, i = [], [], 0
        while i < len(row):
            hit = tuple(row[i : i + 2]) == best
            new_row.append(len(tokens) if hit else row[i])
            new_weights.append(weights[i])
            i += 1 + hit
        row, weights = new_row, new_weights
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return tokens, merges

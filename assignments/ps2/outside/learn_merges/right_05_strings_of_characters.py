# each id is a character of a str: replace() merges from left to right

from collections import Counter


def learn_merges(words, n_tokens, min_count):
    shift = lambda i: chr(i) if i < 0xD800 else chr(i + 0x800)
    back = lambda c: ord(c) if ord(c) < 0xD800 else ord(c) - 0x800
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [["".join(map(shift, word)), n] for word, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for text, n in rows:
            for a, b in zip(text, text[1:]):
                pairs[back(a), back(b)] += n
        candidates = [(-n, pair) for pair, n in pairs.items() if n >= min_count]
        if not candidates:
            break
        _, (a, b) = min(candidates)
        merges.append((tokens[a], tokens[b]))
        for row in rows:
            row[0] = row[0].replace(shift(a) + shift(b), shift(len(tokens)))
        tokens.append(tokens[a] + tokens[b])
    return tokens, merges

# right: each id is one character of a str, so that str.replace merges from left to right, and a set of pairs says which words to touch
from collections import Counter


def learn_merges(words, n_tokens, min_count):
    tokens = [bytes([b]) for b in range(256)]
    merges = []
    texts = [(word.decode("latin-1"), count) for word, count in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for text, count in texts:
            for i in range(1, len(text)):
                pairs[text[i - 1 : i + 1]] += count
        if not pairs:
            break
        top = max(pairs.values())
        if top < min_count:
            break
        best = min(pair for pair, count in pairs.items() if count == top)
        texts = [(text.replace(best, chr(len(tokens))), count) for text, count in texts]
        left, right = (tokens[ord(c)] for c in best)
        merges.append((left, right))
        tokens.append(left + right)
    return tokens, merges

from collections import defaultdict


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [i.to_bytes(1, "big") for i in range(256)], []
    corpus = {tuple(word): n for word, n in words.items()}

    def replace(ids, pair, new):
        out = []
        for i in ids:
            if out and out[-1] == (pair[0],) and i == pair[1]:
                out[-1] = (new, None)
            else:
                out.append((i,))
        return tuple(part[0] for part in out)

    for new in range(256, n_tokens):
        tally = defaultdict(int)
        for ids, n in corpus.items():
            for pair in zip(ids, ids[1:]):
                tally[pair] += n
        ranked = sorted((-n, pair) for pair, n in tally.items())
        if not ranked or -ranked[0][0] < min_count:
            return tokens, merges
        pair = ranked[0][1]
        merges.append(tuple(tokens[i] for i in pair))
        tokens.append(b"".join(merges[-1]))
        corpus = {replace(ids, pair, new): n for ids, n in corpus.items()}
    return tokens, merges

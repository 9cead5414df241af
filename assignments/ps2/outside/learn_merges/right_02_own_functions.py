# needs: count_pairs merge_pair

def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(rows, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        a, b = best
        merges.append((tokens[a], tokens[b]))
        tokens.append(tokens[a] + tokens[b])
        rows = [merge_pair(ids, best, len(tokens) - 1) for ids in rows]
    return tokens, merges

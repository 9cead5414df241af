# wrong: turns special tokens into bytes as well, so that a special token with the text of an ordinary one takes its id; breaks "special tokens, which are strings" and "A special token never comes out of a text"
# shows: merges [(b"a", b"b")], vocabulary ending with the string "ab": encode_word(b"ab", ...) is [257] in place of [256]
def encode_word(word, vocabulary, merges):
    ids = {}
    for i, token in enumerate(vocabulary):
        ids[token if isinstance(token, bytes) else token.encode()] = i
    rank = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        pair = min(zip(parts, parts[1:]), key=lambda p: rank.get(p, len(merges)))
        if pair not in rank:
            break
        merged, i = [], 0
        while i < len(parts):
            if tuple(parts[i : i + 2]) == pair:
                merged.append(pair[0] + pair[1])
                i += 2
            else:
                merged.append(parts[i])
                i += 1
        parts = merged
    return [ids[part] for part in parts]

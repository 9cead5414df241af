# wrong: merges the leftmost known pair, whatever its rank.
# shows: b"the" of the contract.

def encode_word(word, vocabulary, merges):
    known = set(merges)
    parts = [bytes([b]) for b in word]
    i = 0
    while i < len(parts) - 1:
        if (parts[i], parts[i + 1]) in known:
            parts[i : i + 2] = [parts[i] + parts[i + 1]]
            i = 0
        else:
            i += 1
    return [vocabulary.index(p) for p in parts]

# wrong: sorts the caller's merges, by length (and so takes another order besides).
# shows: merges after the call; merges of the contract's "the" with long pairs first.

def encode_word(word, vocabulary, merges):
    merges.sort(key=lambda p: len(p[0] + p[1]))
    parts = [bytes([b]) for b in word]
    changed = True
    while changed:
        changed = False
        for a, b in merges:
            for i in range(len(parts) - 1):
                if (parts[i], parts[i + 1]) == (a, b):
                    parts[i : i + 2] = [a + b]
                    changed = True
                    break
            if changed:
                break
    return [vocabulary.index(p) for p in parts]

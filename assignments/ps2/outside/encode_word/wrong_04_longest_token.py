# wrong: takes the longest known token from the left (the contract warns of it).
# shows: merges [(b"h", b"e"), (b"t", b"h")], b"the" and a vocabulary with both tokens.

def encode_word(word, vocabulary, merges):
    known = {t: i for i, t in enumerate(vocabulary) if isinstance(t, bytes)}
    ids, start = [], 0
    while start < len(word):
        end = len(word)
        while word[start:end] not in known:
            end -= 1
        ids.append(known[word[start:end]])
        start = end
    return ids

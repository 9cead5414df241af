# wrong: merges one place at a time, and among places of the same rank the rightmost, as it compares with <=; breaks "take the pair of the smallest rank, and merge it wherever it stands" with task 2's "Go from left to right"
# shows: merges [(b"a", b"a")]: b"aaa" becomes a + aa, [97, 256], in place of [256, 97]
def encode_word(word, vocabulary, merges):
    rank = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while True:
        best, where = len(merges), None
        for i in range(len(parts) - 1):
            r = rank.get((parts[i], parts[i + 1]), len(merges))
            if r <= best and r < len(merges):
                best, where = r, i
        if where is None:
            break
        parts[where : where + 2] = [parts[where] + parts[where + 1]]
    ids = {token: i for i, token in enumerate(vocabulary) if isinstance(token, bytes)}
    return [ids[part] for part in parts]

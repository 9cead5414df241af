# wrong: merges the best pair from the right: in a run of odd length other tokens come out.
# shows: merges [(b"a", b"a")] and b"aaa": aa + a, not a + aa.

def encode_word(word, vocabulary, merges):
    ranks = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        rank, i = min((ranks.get((parts[i], parts[i + 1]), 10**9), -i) for i in range(len(parts) - 1))
        if rank == 10**9:
            break
        parts[-i : -i + 2] = [parts[-i] + parts[-i + 1]]
    ids = {t: i for i, t in enumerate(vocabulary)}
    return [ids[p] for p in parts]

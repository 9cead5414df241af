# %% right: Replays every merge in order.
def encode_word(word, vocabulary, merges):
    pieces = [bytes([b]) for b in word]
    for first, second in merges:
        pieces = merge_pair(pieces, (first, second), first + second)
    return [vocabulary.index(piece) for piece in pieces]


# %% right: Works with ids throughout.
def encode_word(word, vocabulary, merges):
    id_of = {token: i for i, token in enumerate(vocabulary)}
    made = {(id_of[a], id_of[b]): (rank, id_of[a + b]) for rank, (a, b) in enumerate(merges)}
    ids = list(word)
    while len(ids) > 1:
        pair = min(pairwise(ids), key=lambda pair: made.get(pair, (len(merges), 0)))
        if pair not in made:
            break
        ids = merge_pair(ids, pair, made[pair][1])
    return ids


# %% right: Merges one place at a time, the leftmost of the smallest rank.
def encode_word(word, vocabulary, merges):
    pieces = [word[i : i + 1] for i in range(len(word))]
    while True:
        ranked = [
            (merges.index((pieces[i], pieces[i + 1])), i)
            for i in range(len(pieces) - 1)
            if (pieces[i], pieces[i + 1]) in merges
        ]
        if not ranked:
            return list(map(vocabulary.index, pieces))
        _, i = min(ranked)
        pieces = [*pieces[:i], pieces[i] + pieces[i + 1], *pieces[i + 2 :]]


# %% right: Calls itself after each merge.
def encode_word(word, vocabulary, merges, pieces=None):
    if pieces is None:
        pieces = tuple(bytes([b]) for b in word)
    present = set(pairwise(pieces))
    for first, second in merges:
        if (first, second) in present:
            merged = merge_pair(pieces, (first, second), first + second)
            return encode_word(word, vocabulary, merges, merged)
    return [vocabulary.index(piece) for piece in pieces]


# %% right: ranks and loop
from itertools import pairwise


def encode_word(word, vocabulary, merges):
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        best = min(pairwise(parts), key=lambda pair: ranks.get(pair, len(ranks)))
        if best not in ranks:
            break
        out, i = [], 0
        while i < len(parts):
            if tuple(parts[i : i + 2]) == best:
                out.append(parts[i] + parts[i + 1])
                i += 2
            else:
                out.append(parts[i])
                i += 1
        parts = out
    ids = {token: i for i, token in enumerate(vocabulary)}
    return [ids[part] for part in parts]


# %% right: with merge pair
# needs: merge_pair

from itertools import pairwise


def encode_word(word, vocabulary, merges):
    parts = [word[i : i + 1] for i in range(len(word))]
    ranks = dict(zip(merges, range(len(merges))))
    while known := [pair for pair in pairwise(parts) if pair in ranks]:
        pair = min(known, key=ranks.__getitem__)
        parts = merge_pair(parts, pair, pair[0] + pair[1])
    return list(map(vocabulary.index, parts))


# %% right: leftmost of best one at a time
def encode_word(word: bytes, vocabulary: list, merges: list) -> list[int]:
    rank = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes((b,)) for b in word]
    while True:
        places = [(rank[p], i) for i, p in enumerate(zip(parts, parts[1:])) if p in rank]
        if not places:
            break
        _, i = min(places)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return [vocabulary.index(p) for p in parts]


# %% right: passes until quiet
from itertools import pairwise


def encode_word(word, vocabulary, merges):
    parts = [bytes([b]) for b in word]
    again = True
    while again:
        again = False
        for a, b in merges:
            if (a, b) not in set(pairwise(parts)):
                continue
            done, i = [], 0
            while i < len(parts):
                if i < len(parts) - 1 and parts[i] == a and parts[i + 1] == b:
                    done.append(a + b)
                    i += 2
                else:
                    done.append(parts[i])
                    i += 1
            parts, again = done, True
            break
    table = {token: i for i, token in reversed(list(enumerate(vocabulary))) if isinstance(token, bytes)}
    return [table[p] for p in parts]


# %% right: linked heap
# a heap of (rank, place), with links to the neighbours

import heapq


def encode_word(word, vocabulary, merges):
    rank = {pair: r for r, pair in enumerate(merges)}
    part = [bytes([b]) for b in word]
    n = len(part)
    after, before = list(range(1, n + 1)), list(range(-1, n - 1))
    heap = []

    def push(i):
        if 0 <= i < n and part[i] is not None and after[i] < n:
            pair = part[i], part[after[i]]
            if pair in rank:
                heapq.heappush(heap, (rank[pair], i, pair))

    for i in range(n):
        push(i)
    while heap:
        _, i, pair = heapq.heappop(heap)
        if part[i] is None or after[i] >= n or (part[i], part[after[i]]) != pair:
            continue
        j = after[i]
        part[i], part[j] = pair[0] + pair[1], None
        after[i] = after[j]
        if after[i] < n:
            before[after[i]] = i
        push(i)
        push(before[i])
    ids = {token: i for i, token in enumerate(vocabulary)}
    return [ids[p] for p in part if p is not None]


# %% right: heap and links
# a linked list of parts and a heap of (rank, place): the leftmost place of the smallest rank is merged, old entries are passed over
import heapq


def encode_word(word, vocabulary, merges):
    rank = {}
    for r, pair in enumerate(merges):
        rank.setdefault(pair, r)
    part = {i: word[i : i + 1] for i in range(len(word))}
    after = {i: i + 1 for i in part}
    before = {i: i - 1 for i in part}
    heap = []

    def offer(i):
        j = after.get(i)
        if i in part and j in part and (part[i], part[j]) in rank:
            heapq.heappush(heap, (rank[part[i], part[j]], i, part[i], part[j]))

    for i in part:
        offer(i)
    while heap:
        _, i, left, right = heapq.heappop(heap)
        j = after.get(i)
        if part.get(i) != left or part.get(j) != right:
            continue
        part[i] = left + right
        del part[j]
        after[i] = after[j]
        before[after[i]] = i
        offer(i)
        offer(before[i])
    return [vocabulary.index(part[i]) for i in sorted(part)]


# %% wrong: cached by word
# results are kept by word alone: stale for other merges or another vocabulary.
# shows: the same word with two lists of merges.

from itertools import pairwise


_seen = {}


def encode_word(word, vocabulary, merges):
    if word not in _seen:
        ranks = {pair: r for r, pair in enumerate(merges)}
        parts = [bytes([b]) for b in word]
        while True:
            best = min(pairwise(parts), key=lambda p: ranks.get(p, len(merges)), default=None)
            if best not in ranks:
                break
            out, i = [], 0
            while i < len(parts):
                hit = tuple(parts[i : i + 2]) == best
                out.append(best[0] + best[1] if hit else parts[i])
                i += 1 + hit
            parts = out
        ids = {t: i for i, t in enumerate(vocabulary)}
        _seen[word] = [ids[p] for p in parts]
    return list(_seen[word])


# %% wrong: rightmost first
# merges the best pair from the right: in a run of odd length other tokens come out.
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


# %% wrong: longest token
# takes the longest known token from the left (the contract warns of it).
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


# %% wrong: zero byte lost
# "if b" leaves the zero byte out.
# shows: b"a\x00b".

from itertools import pairwise


def encode_word(word, vocabulary, merges):
    ranks = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word if b]
    while True:
        known = [p for p in pairwise(parts) if p in ranks]
        if not known:
            return [vocabulary.index(p) for p in parts]
        best = min(known, key=lambda p: ranks[p])
        out, i = [], 0
        while i < len(parts):
            hit = tuple(parts[i : i + 2]) == best
            out.append(best[0] + best[1] if hit else parts[i])
            i += 1 + hit
        parts = out


# %% wrong: leftmost known
# merges the leftmost known pair, whatever its rank.
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


# %% wrong: rank zero is none
# "if rank" takes the rank 0 for none: the first merge is never used.
# shows: words with the first pair of merges: b"es".

from itertools import pairwise


def encode_word(word, vocabulary, merges):
    ranks = {pair: r for r, pair in enumerate(merges)}
    parts = [bytes([b]) for b in word]
    while True:
        found = [(ranks[p], p) for p in pairwise(parts) if ranks.get(p)]
        if not found:
            break
        _, best = min(found)
        out, i = [], 0
        while i < len(parts):
            hit = tuple(parts[i : i + 2]) == best
            out.append(best[0] + best[1] if hit else parts[i])
            i += 1 + hit
        parts = out
    return [vocabulary.index(p) for p in parts]


# %% wrong: sorts the merges
# sorts the caller's merges, by length (and so takes another order besides).
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


# %% wrong: last occurrence first
# merges one place at a time, and among places of the same rank the rightmost, as it compares with <=; breaks "take the pair of the smallest rank, and merge it wherever it stands" with task 2's "Go from left to right"
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


# %% wrong: special token of same text
# turns special tokens into bytes as well, so that a special token with the text of an ordinary one takes its id; breaks "special tokens, which are strings" and "A special token never comes out of a text"
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


# %% wrong: at most fifty rounds
# It stops after fifty merges.
# shows: 64 bytes that merge into four
def encode_word(word, vocabulary, merges):
    """Return the ids of a word, by replaying the merges."""
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    pieces = [bytes([b]) for b in word]
    for _ in range(50):
        known = [pair for pair in pairwise(pieces) if pair in ranks]
        if not known:
            break
        first, second = min(known, key=ranks.get)
        pieces = merge_pair(pieces, (first, second), first + second)
    id_of = {token: i for i, token in enumerate(vocabulary)}
    return [id_of[piece] for piece in pieces]


# %% wrong: whatever is in the vocabulary
# Two neighbours are merged if their bytes together are in the vocabulary, by its order, even if this pair is not in merges.
# shows: merges ab, bc, a+bc: "abc" is ab, c
def encode_word(word, vocabulary, merges):
    ids = {token: i for i, token in enumerate(vocabulary) if isinstance(token, bytes)}
    parts = [bytes([b]) for b in word]
    while len(parts) > 1:
        found = [(ids[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in ids]
        if not found:
            break
        _, i = min(found)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return [ids[part] for part in parts]

# %% right: Trains on bytes objects and asks for ids only where a tie must be decided.
def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    table = {tuple(bytes([b]) for b in word): n for word, n in words.items()}
    while len(tokens) < n_tokens:
        pairs = Counter()
        for pieces, n in table.items():
            for pair in pairwise(pieces):
                pairs[pair] += n
        frequent = [pair for pair, n in pairs.items() if n == max(pairs.values()) >= min_count]
        if not frequent:
            break
        first, second = min(frequent, key=lambda p: (tokens.index(p[0]), tokens.index(p[1])))
        made = first + second
        table = {tuple(merge_pair(p, (first, second), made)): n for p, n in table.items()}
        tokens.append(made)
        merges.append((first, second))
    return tokens, merges


# %% right: Sorts all pairs and takes the first, for a fixed number of steps.
def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled = {word: list(word) for word in words}
    for made in range(256, n_tokens):
        pairs = count_pairs(list(spelled.values()), [words[word] for word in spelled])
        ranked = sorted((-n, first, second) for (first, second), n in pairs.items())
        if not ranked or -ranked[0][0] < min_count:
            return tokens, merges
        _, first, second = ranked[0]
        for word, ids in spelled.items():
            spelled[word] = merge_pair(ids, (first, second), made)
        merges.append((tokens[first], tokens[second]))
        tokens.append(tokens[first] + tokens[second])
    return tokens, merges


# %% right: Compares each pair with the best one so far.
def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled = [(list(word), n) for word, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = defaultdict(int)
        for ids, n in spelled:
            for place in range(len(ids) - 1):
                pairs[ids[place], ids[place + 1]] += n
        best, most = None, 0
        for pair, n in pairs.items():
            if n > most or (n == most and pair < best):
                best, most = pair, n
        if best is None or most < min_count:
            break
        spelled = [(merge_pair(ids, best, len(tokens)), n) for ids, n in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return tokens, merges


# %% right: Counts once, and then updates the counts of the words that a merge has changed.
def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    pairs = Counter(count_pairs(spelled, counts))
    while len(tokens) < n_tokens and pairs:
        best = max(pairs, key=lambda pair: (pairs[pair], -pair[0], -pair[1]))
        if pairs[best] < min_count:
            break
        for w, ids in enumerate(spelled):
            after = merge_pair(ids, best, len(tokens))
            if after != ids:
                pairs.subtract(count_pairs([ids], [counts[w]]))
                pairs.update(count_pairs([after], [counts[w]]))
                spelled[w] = after
        pairs = +pairs  # without those that have fallen to 0
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append((tokens[best[0]], tokens[best[1]]))
    return tokens, merges


# %% right: min with key
from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens = [bytes([b]) for b in range(256)]
    merges = []
    rows, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        for ids in rows:
            i = 0
            while i + 1 < len(ids):
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
    return tokens, merges


# %% right: own functions
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


# %% right: sorted and recursive step
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


# %% right: index of words
# counts anew only in the words that have the pair

from collections import Counter
from collections import defaultdict
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes((b,)) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    pairs, where = Counter(), defaultdict(set)

    def add(k, sign):
        for pair in pairwise(rows[k]):
            pairs[pair] += sign * counts[k]
            if sign > 0:
                where[pair].add(k)

    for k in range(len(rows)):
        add(k, 1)
    while len(tokens) < n_tokens:
        best = min((p for p in pairs if pairs[p] > 0), key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        for k in list(where[best]):
            add(k, -1)
            out, i = [], 0
            while i < len(rows[k]):
                hit = tuple(rows[k][i : i + 2]) == best
                out.append(new if hit else rows[k][i])
                i += 2 if hit else 1
            rows[k] = out
            add(k, 1)
    return tokens, merges


# %% right: strings of characters
# each id is a character of a str: replace() merges from left to right

from collections import Counter


def learn_merges(words, n_tokens, min_count):
    shift = lambda i: chr(i) if i < 0xD800 else chr(i + 0x800)
    back = lambda c: ord(c) if ord(c) < 0xD800 else ord(c) - 0x800
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [["".join(map(shift, word)), n] for word, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for text, n in rows:
            for a, b in zip(text, text[1:]):
                pairs[back(a), back(b)] += n
        candidates = [(-n, pair) for pair, n in pairs.items() if n >= min_count]
        if not candidates:
            break
        _, (a, b) = min(candidates)
        merges.append((tokens[a], tokens[b]))
        for row in rows:
            row[0] = row[0].replace(shift(a) + shift(b), shift(len(tokens)))
        tokens.append(tokens[a] + tokens[b])
    return tokens, merges


# %% right: incremental counts
# counts are lowered and raised next to each merge, on the row as it is at that moment

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    pairs = Counter()
    for ids, n in zip(rows, counts):
        for pair in pairwise(ids):
            pairs[pair] += n
    while len(tokens) < n_tokens:
        pairs = +pairs
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, n in zip(rows, counts):
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    if i > 0:
                        pairs[ids[i - 1], best[0]] -= n
                        pairs[ids[i - 1], new] += n
                    if i + 2 < len(ids):
                        pairs[best[1], ids[i + 2]] -= n
                        pairs[new, ids[i + 2]] += n
                    ids[i : i + 2] = [new]
                i += 1
        del pairs[best]
    return tokens, merges


# %% right: words as strings
# each id is one character of a str, so that str.replace merges from left to right, and a set of pairs says which words to touch
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


# %% wrong: ties by bytes
# ties are broken by the BYTES of the tokens, not by their ids: a merged token such as b"ab" sorts before b"b", its id 256 does not.
# shows: equal counts for a pair that begins with a merged token and one that begins with a later byte, e.g. (b"es", ...) and (b"t", ...).

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    table = [([bytes([b]) for b in word], n) for word, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for parts, n in table:
            for pair in pairwise(parts):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        merges.append(best)
        tokens.append(best[0] + best[1])
        for parts, _ in table:
            i = 0
            while i < len(parts) - 1:
                if (parts[i], parts[i + 1]) == best:
                    parts[i : i + 2] = [tokens[-1]]
                i += 1
    return tokens, merges


# %% wrong: second id not asked
# of equal first ids the pair that was met first wins, not the one with the smaller second id.
# shows: {b"xb": 1, b"xa": 1}: (x, a) must come first.

from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = {}
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] = pairs.get(pair, 0) + n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p[0]))
        if pairs[best] < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        new = len(tokens)
        tokens.append(b"".join(merges[-1]))
        for k, ids in enumerate(rows):
            out, i = [], 0
            while i < len(ids):
                hit = tuple(ids[i : i + 2]) == best
                out.append(new if hit else ids[i])
                i += 1 + hit
            rows[k] = out
    return tokens, merges


# %% wrong: one merge per word
# merges the pair only once in each word.
# shows: words in which the pair occurs twice: b"lowlow", b"abab".

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids in rows:
            for i in range(len(ids) - 1):
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [len(tokens) - 1]
                    break
    return tokens, merges


# %% wrong: empty word makes it stop
# a word of one byte or none ends the search for pairs ("break" where "continue" was meant).
# shows: a short word before long ones: {b"a": 9, b"bc": 5}.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [[list(w), n] for w, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in rows:
            if len(ids) < 2:
                if len(merges) == 0:
                    break
                continue
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for row in rows:
            out, i = [], 0
            while i < len(row[0]):
                hit = tuple(row[0][i : i + 2]) == best
                out.append(len(tokens) - 1 if hit else row[0][i])
                i += 1 + hit
            row[0] = out
    return tokens, merges


# %% wrong: counts updated badly
# counts are updated and not made anew, with the neighbours as they stood BEFORE the merges of this step: two merges side by side (abab) lower (b, a) twice and raise pairs that are not there.
# shows: words in which the best pair stands twice side by side: b"abab", b"lowlow".

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows, counts = [list(w) for w in words], list(words.values())
    pairs = Counter()
    for ids, n in zip(rows, counts):
        for pair in pairwise(ids):
            pairs[pair] += n
    while len(tokens) < n_tokens:
        pairs = +pairs
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        if pairs[best] < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, n in zip(rows, counts):
            i, out = 0, []
            while i < len(ids):
                if tuple(ids[i : i + 2]) == best:
                    if i > 0:
                        pairs[ids[i - 1], best[0]] -= n
                        pairs[ids[i - 1], new] += n
                    if i + 2 < len(ids):
                        pairs[best[1], ids[i + 2]] -= n
                        pairs[new, ids[i + 2]] += n
                    out.append(new)
                    i += 2
                else:
                    out.append(ids[i])
                    i += 1
            ids[:] = out
        del pairs[best]
    return tokens, merges


# %% wrong: min count of words
# leaves out WORDS that occur less often than min_count; pairs are then not tested.
# shows: rare words that share a pair: {b"ab": 1, b"abc": 1} with min_count 2.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    kept = {w: n for w, n in words.items() if n >= min_count}
    rows, counts = [list(w) for w in kept], list(kept.values())
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in zip(rows, counts):
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs or max(pairs.values()) < min_count:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for k, ids in enumerate(rows):
            out, i = [], 0
            while i < len(ids):
                hit = tuple(ids[i : i + 2]) == best
                out.append(len(tokens) - 1 if hit else ids[i])
                i += 1 + hit
            rows[k] = out
    return tokens, merges


# %% wrong: most common
# most_common(1) breaks ties by which pair was met first.
# shows: ties, in words that are not sorted.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [(list(w), n) for w, n in sorted(words.items())]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, n in rows:
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        best, n = pairs.most_common(1)[0]
        if n < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, _ in rows:
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [len(tokens) - 1]
                i += 1
    return tokens, merges


# %% wrong: more than min count
# a pair must occur MORE often than min_count.
# shows: the best pair occurs exactly min_count times.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [(list(w), n) for w, n in words.items()]
    for new in range(256, n_tokens):
        pairs = Counter()
        for ids, n in rows:
            for pair in pairwise(ids):
                pairs[pair] += n
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] <= min_count - (min_count == 1):
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, _ in rows:
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
    return tokens, merges


# %% wrong: newest pair on ties
# of equally frequent pairs the LARGEST first id wins (max over (count, pair)).
# shows: ties.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [(list(w), n) for w, n in words.items()]
    for new in range(256, n_tokens):
        pairs = Counter()
        for ids, n in rows:
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            break
        n, best = max((n, pair) for pair, n in pairs.items())
        if n < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, _ in rows:
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
    return tokens, merges


# %% wrong: text words
# words are decoded to str and cut into characters: bytes of one character are never apart, and broken UTF-8 fails.
# shows: words with bytes above 127.

from collections import Counter
from itertools import pairwise


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    ids_of = {t: i for i, t in enumerate(tokens)}
    rows = [([ids_of[c.encode()] for c in w.decode() if c.encode() in ids_of], n) for w, n in words.items()]
    for new in range(256, n_tokens):
        pairs = Counter()
        for ids, n in rows:
            for pair in pairwise(ids):
                pairs[pair] += n
        best = min(pairs, key=lambda p: (-pairs[p], p), default=None)
        if best is None or pairs[best] < min_count:
            break
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(merges[-1][0] + merges[-1][1])
        for ids, _ in rows:
            i = 0
            while i < len(ids) - 1:
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
    return tokens, merges


# %% wrong: zero marks the border
# keeps all words in one row with the id 0 between them, and takes no pair with a 0, though 0 is a byte like others; breaks "words: dict from bytes" / "The tokens 0 to 255 are the single bytes"
# shows: learn_merges({b"\x00\x00a": 5}, 999, 1): no pair with byte 0 is ever merged
from collections import Counter


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    row, weights = [], []
    for word, count in words.items():
        row += [*word, 0]
        weights += [count] * (len(word) + 1)
    while len(tokens) < n_tokens:
        pairs = Counter()
        for a, b, weight in zip(row, row[1:], weights):
            if a and b:
                pairs[a, b] += weight
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        new_row, new_weights, i = [], [], 0
        while i < len(row):
            hit = tuple(row[i : i + 2]) == best
            new_row.append(len(tokens) if hit else row[i])
            new_weights.append(weights[i])
            i += 1 + hit
        row, weights = new_row, new_weights
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return tokens, merges


# %% wrong: heap forgets old pairs
# a heap of pairs; an entry with an old count is thrown away, but a pair whose count FELL was never pushed anew, so it is lost; breaks "stop when no pair occurs as often as this" / "Stop as well when no pair is left" (too early here)
# shows: learn_merges({b"abc": 5, b"ab": 2, b"bc": 3}, 999, 1): after b + c, (a, b) fell from 7 to 2, and it is never merged
import heapq
from collections import Counter


def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    rows = [(list(word), count) for word, count in words.items()]

    def count_all():
        pairs = Counter()
        for ids, count in rows:
            for pair in zip(ids, ids[1:]):
                pairs[pair] += count
        return pairs

    pairs = count_all()
    heap = [(-count, pair) for pair, count in pairs.items()]
    heapq.heapify(heap)
    while len(tokens) < n_tokens and heap:
        count, best = heapq.heappop(heap)
        if pairs.get(best, 0) != -count:
            continue
        if -count < min_count:
            break
        new = len(tokens)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
        for ids, _ in rows:
            i = 0
            while i + 1 < len(ids):
                if (ids[i], ids[i + 1]) == best:
                    ids[i : i + 2] = [new]
                i += 1
        pairs = count_all()
        for pair, number in pairs.items():
            if new in pair:
                heapq.heappush(heap, (-number, pair))
    return tokens, merges


# %% wrong: at most forty merges
# It stops after forty rounds.
# shows: 50 words of two bytes, room for 48 merges
def learn_merges(words, n_tokens, min_count):
    """Learn merges from counted words; return the tokens by id, and the merges in order."""
    tokens = [bytes([b]) for b in range(256)]
    merges = []
    spelled = [list(word) for word in words]
    counts = list(words.values())
    while len(tokens) < min(n_tokens, 256 + 40):
        pairs = count_pairs(spelled, counts)
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        first, second = best
        merges.append((tokens[first], tokens[second]))
        tokens.append(tokens[first] + tokens[second])
    return tokens, merges


# %% wrong: ties by 512 times the first id
# A tie is decided by 512 times the first id plus the second, so with more than 512 tokens the smallest first id does not always win.
# shows: 260 merges of words of two bytes, then (1, 515) and (2, 0), equally frequent
def learn_merges(words, n_tokens, min_count):
    tokens, merges = [bytes([b]) for b in range(256)], []
    texts = [[list(word), count] for word, count in words.items()]
    while len(tokens) < n_tokens:
        pairs = Counter()
        for ids, count in texts:
            for pair in pairwise(ids):
                pairs[pair] += count
        if not pairs:
            break
        a, b = max(pairs, key=lambda p: (pairs[p], -(p[0] * 512 + p[1])))
        if pairs[a, b] < min_count:
            break
        for entry in texts:
            old, new = entry[0], []
            i = 0
            while i < len(old):
                if old[i : i + 2] == [a, b]:
                    new.append(len(tokens))
                    i += 2
                else:
                    new.append(old[i])
                    i += 1
            entry[0] = new
        merges.append((tokens[a], tokens[b]))
        tokens.append(tokens[a] + tokens[b])
    return tokens, merges

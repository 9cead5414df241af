# %% right: Walks over places, with a plain dictionary.
def count_pairs(words, counts):
    pairs = {}
    for w in range(len(words)):
        for place in range(1, len(words[w])):
            pair = (words[w][place - 1], words[w][place])
            pairs[pair] = pairs.get(pair, 0) + counts[w]
    return pairs


# %% right: Lays the word beside itself, one place moved.
def count_pairs(words, counts):
    pairs = defaultdict(int)
    for ids, n in zip(words, counts, strict=True):
        following = ids[1:]
        for pair in zip(ids[: len(following)], following, strict=True):
            pairs[pair] += n
    return pairs


# %% right: Counts inside each word first.
def count_pairs(words, counts):
    total = Counter()
    for ids, n in zip(words, counts, strict=True):
        for pair, times in Counter(pairwise(ids)).items():
            total[pair] += times * n
    return total


# %% right: Hands all occurrences to one Counter.
def count_pairs(words, counts):
    return Counter(
        pair
        for ids, n in zip(words, counts, strict=True)
        for pair in pairwise(ids)
        for _ in range(n)
    )


# %% right: counter
from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for pair in pairwise(ids):
            pairs[pair] += n
    return pairs


# %% right: defaultdict zip
from collections import defaultdict


def count_pairs(words, counts):
    pairs = defaultdict(int)
    for k in range(len(words)):
        for pair in zip(words[k], words[k][1:]):
            pairs[pair] += counts[k]
    return pairs


# %% right: indices
def count_pairs(words: list[list[int]], counts: list[int]) -> dict[tuple[int, int], int]:
    pairs: dict[tuple[int, int], int] = {}
    for ids, n in zip(words, counts, strict=True):
        for i in range(1, len(ids)):
            key = (ids[i - 1], ids[i])
            pairs[key] = pairs.get(key, 0) + n
    return {key: n for key, n in pairs.items() if n}


# %% right: counter of counters
from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    def of_one(ids, n):
        return Counter({pair: times * n for pair, times in Counter(pairwise(ids)).items()})

    total = Counter()
    for part in map(of_one, words, counts):
        total.update(part)
    return total


# %% right: sort and group
from itertools import pairwise
import itertools


def count_pairs(words, counts):
    rows = [(pair, n) for ids, n in zip(words, counts) for pair in pairwise(ids)]
    rows.sort()
    return {
        pair: sum(n for _, n in group)
        for pair, group in itertools.groupby(rows, key=lambda row: row[0])
    }


# %% right: sum of counters
# counts the pairs of each word alone, multiplies, and adds the tables up
from collections import Counter
from itertools import islice


def count_pairs(words, counts):
    pairs = Counter()
    for number, ids in enumerate(words):
        inside = Counter(zip(ids, islice(ids, 1, None)))
        pairs.update({pair: times * counts[number] for pair, times in inside.items()})
    return pairs


# %% wrong: once per word
# a pair that occurs twice in one word is counted once (set).
# shows: [7, 7, 7] or [1, 2, 1, 2].

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for pair in set(pairwise(ids)):
            pairs[pair] += n
    return pairs


# %% wrong: falsy id
# "if a and b" leaves out every pair with the id 0.
# shows: the id 0 (the zero byte).

from collections import defaultdict


def count_pairs(words, counts):
    pairs = defaultdict(int)
    for ids, n in zip(words, counts):
        for i in range(len(ids)):
            a, b = ids[i], ids[i + 1] if i + 1 < len(ids) else 0
            if a and b:
                pairs[a, b] += n
    return dict(pairs)


# %% wrong: dict of words
# the words become keys of a dict: of two equal words only the last count is left.
# shows: the same word twice in the list.

from collections import Counter


def count_pairs(words, counts):
    table = dict(zip(map(tuple, words), counts))
    pairs = Counter()
    for ids, n in table.items():
        for pair in zip(ids, ids[1:]):
            pairs[pair] += n
    return pairs


# %% wrong: packed in 16 bits
# packs a pair into a number, a * 65536 + b: right up to the id 65535, wrong above (vocabularies of 100,000 tokens exist).
# shows: an id of 65536 and more on the right.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    packed = Counter()
    for ids, n in zip(words, counts):
        for a, b in pairwise(ids):
            packed[a * 65536 + b] += n
    return {(key // 65536, key % 65536): n for key, n in packed.items()}


# %% wrong: runs do not overlap
# after a pair of equal ids it skips one: (7, 7) once in [7, 7, 7].
# shows: runs of three and more.

from collections import Counter


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        i = 0
        while i < len(ids) - 1:
            pairs[ids[i], ids[i + 1]] += n
            i += 2 if ids[i] == ids[i + 1] and ids[i + 1 : i + 3] == ids[i : i + 2] else 1
    return pairs


# %% wrong: eats the words
# pops the ids from the caller's words.
# shows: words after the call.

from collections import Counter


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        while len(ids) > 1:
            last = ids.pop()
            pairs[ids[-1], last] += n
    return pairs


# %% wrong: mutable default
# the table is a default argument and grows from call to call.
# shows: a second call.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts, pairs=Counter()):
    for ids, n in zip(words, counts):
        for pair in pairwise(ids):
            pairs[pair] += n
    return pairs


# %% wrong: across words
# all words in one row with None between them, and None taken out only on the left.
# shows: keys such as (2, None) after every word.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for a, b in pairwise([None, *ids, None]):
            if a is not None:
                pairs[a, b] += n
    return pairs


# %% wrong: sorted pairs
# (2, 1) and (1, 2) are counted as one.
# shows: both orders.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs = Counter()
    for ids, n in zip(words, counts):
        for a, b in pairwise(ids):
            pairs[min(a, b), max(a, b)] += n
    return pairs


# %% wrong: counts as weights once
# counts how many words have it, times the LAST count.
# shows: several words with different counts.

from collections import Counter
from itertools import pairwise


def count_pairs(words, counts):
    pairs, weight = Counter(), {}
    for ids, n in zip(words, counts):
        for pair in pairwise(ids):
            pairs[pair] += 1
            weight[pair] = n
    return {pair: pairs[pair] * weight[pair] for pair in pairs}


# %% wrong: sixteen bits
# packs a pair into one number with 16 bits for each id, so ids from 65536 on fall on other pairs; breaks "words: list of lists of int, the ids of each word" / "its keys are pairs of ids"
# shows: count_pairs([[70000, 1]], [1]) is {(4464, 1): 1}
from collections import Counter


def count_pairs(words, counts):
    packed = Counter()
    for ids, count in zip(words, counts):
        for a, b in zip(ids, ids[1:]):
            packed[(a & 0xFFFF) << 16 | (b & 0xFFFF)] += count
    return {(key >> 16, key & 0xFFFF): count for key, count in packed.items()}


# %% wrong: stops at a short word
# a word of one id or none ends the loop, not only its own round; breaks "how often they are neighbours in the corpus" where "a word may have one id or none"
# shows: count_pairs([[4], [1, 2]], [1, 1]) is {}
from collections import defaultdict


def count_pairs(words, counts):
    pairs = defaultdict(int)
    for ids, count in zip(words, counts):
        if len(ids) < 2:
            break
        for pair in zip(ids, ids[1:]):
            pairs[pair] += count
    return dict(pairs)


# %% wrong: joined by the id 256
# Words are joined with 256 between them and pairs with 256 are thrown away, but 256 is the first learned id, whose pairs must be counted.
# shows: words [[255, 256, 257]]: pairs with 256
def count_pairs(words, counts):
    stream, times = [], []
    for word, count in zip(words, counts):
        stream += [*word, 256]
        times += [count] * (len(word) + 1)
    pairs = Counter()
    for place in range(len(stream) - 1):
        if 256 not in stream[place : place + 2]:
            pairs[stream[place], stream[place + 1]] += times[place]
    return pairs

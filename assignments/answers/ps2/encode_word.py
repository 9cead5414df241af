"""Answers to the task "encode a word".

Like a student's, they call the function of task 2.
"""

from itertools import pairwise

from assignments.answers import alternatives, mistakes
from assignments.answers.ps2.merge_pair import by_skipping as merge_pair


def longest_match(word, vocabulary, merges):
    """The longest known token is taken, from left to right."""
    ids, place = [], 0
    while place < len(word):
        end = next(e for e in range(len(word), place, -1) if word[place:e] in vocabulary)
        ids.append(vocabulary.index(word[place:end]))
        place = end
    return ids


def leftmost_pair_first(word, vocabulary, merges):
    """The leftmost known pair is merged first, whatever its rank."""
    pieces = [bytes([b]) for b in word]
    while True:
        known = [pair for pair in pairwise(pieces) if pair in merges]
        if not known:
            return [vocabulary.index(piece) for piece in pieces]
        pieces = merge_pair(pieces, known[0], b"".join(known[0]))


def largest_rank_first(word, vocabulary, merges):
    """The pair that was learned last is merged first."""
    pieces = [bytes([b]) for b in word]
    while True:
        known = [pair for pair in pairwise(pieces) if pair in merges]
        if not known:
            return [vocabulary.index(piece) for piece in pieces]
        best = max(known, key=merges.index)
        pieces = merge_pair(pieces, best, b"".join(best))


def merge_once(word, vocabulary, merges):
    """Only one merge is made."""
    pieces = [bytes([b]) for b in word]
    known = [pair for pair in pairwise(pieces) if pair in merges]
    if known:
        best = min(known, key=merges.index)
        pieces = merge_pair(pieces, best, b"".join(best))
    return [vocabulary.index(piece) for piece in pieces]


def merge_each_pair_once(word, vocabulary, merges):
    """Each pair is merged at one place of the word only."""
    pieces = [bytes([b]) for b in word]
    for pair in merges:
        for place in range(len(pieces) - 1):
            if (pieces[place], pieces[place + 1]) == pair:
                pieces[place : place + 2] = [b"".join(pair)]
                break
    return [vocabulary.index(piece) for piece in pieces]


def return_tokens(word, vocabulary, merges):
    """The tokens are returned, not their ids."""
    pieces = [bytes([b]) for b in word]
    for pair in merges:
        pieces = merge_pair(pieces, pair, b"".join(pair))
    return pieces


def return_ranks(word, vocabulary, merges):
    """The rank of a merge is returned as its id."""
    pieces = [bytes([b]) for b in word]
    for pair in merges:
        pieces = merge_pair(pieces, pair, b"".join(pair))
    made = [first + second for first, second in merges]
    return [made.index(p) if p in made else vocabulary.index(p) for p in pieces]


def drop_what_was_not_merged(word, vocabulary, merges):
    """Bytes that are in no merge are lost."""
    pieces = [bytes([b]) for b in word]
    for pair in merges:
        pieces = merge_pair(pieces, pair, b"".join(pair))
    made = {first + second for first, second in merges}
    return [vocabulary.index(piece) for piece in pieces if piece in made]


def start_from_characters(word, vocabulary, merges):
    """The word is cut into characters, not into bytes."""
    pieces = [character.encode() for character in word.decode()]
    for pair in merges:
        pieces = merge_pair(pieces, pair, b"".join(pair))
    return [vocabulary.index(piece) for piece in pieces]


def whole_word_or_bytes(word, vocabulary, merges):
    """A word is one token or nothing but bytes."""
    return [vocabulary.index(word)] if word in vocabulary else list(word)


def use_up_merges(word, vocabulary, merges):
    """The merges of the caller are used up."""
    pieces = [bytes([b]) for b in word]
    for _ in range(len(merges)):
        pair = merges.pop(0)
        pieces = merge_pair(pieces, pair, b"".join(pair))
    return [vocabulary.index(piece) for piece in pieces]


def by_replaying(word, vocabulary, merges):
    """Replays every merge in order."""
    pieces = [bytes([b]) for b in word]
    for first, second in merges:
        pieces = merge_pair(pieces, (first, second), first + second)
    return [vocabulary.index(piece) for piece in pieces]


def by_ids(word, vocabulary, merges):
    """Works with ids throughout."""
    id_of = {token: i for i, token in enumerate(vocabulary)}
    made = {(id_of[a], id_of[b]): (rank, id_of[a + b]) for rank, (a, b) in enumerate(merges)}
    ids = list(word)
    while len(ids) > 1:
        pair = min(pairwise(ids), key=lambda pair: made.get(pair, (len(merges), 0)))
        if pair not in made:
            break
        ids = merge_pair(ids, pair, made[pair][1])
    return ids


def by_one_place_at_a_time(word, vocabulary, merges):
    """Merges one place at a time, the leftmost of the smallest rank."""
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


def by_recursion(word, vocabulary, merges, pieces=None):
    """Calls itself after each merge."""
    if pieces is None:
        pieces = tuple(bytes([b]) for b in word)
    present = set(pairwise(pieces))
    for first, second in merges:
        if (first, second) in present:
            merged = merge_pair(pieces, (first, second), first + second)
            return by_recursion(word, vocabulary, merges, merged)
    return [vocabulary.index(piece) for piece in pieces]


MISTAKES = mistakes(
    (
        longest_match,
        "You look for the longest token that fits. Training did not work like that: it merged "
        "pairs in the order of their ranks, and so must you.",
    ),
    (
        leftmost_pair_first,
        "You merge the first known pair that you meet from the left. But of all known pairs in "
        "the word, the one with the smallest rank comes first.",
    ),
    (
        largest_rank_first,
        "You prefer the merges that were learned last. A small rank means early, and what was "
        "learned early is merged first.",
    ),
    (
        merge_once,
        "Your first merge is right, and then you stop. A merge makes new neighbours: go on as "
        "long as some of them are a known pair.",
    ),
    (
        merge_each_pair_once,
        "A pair may stand at several places of a word, and you merge only the first. Look at what "
        "happens after a merge was found.",
    ),
    (
        return_tokens,
        "The word is cut well, but you return the tokens. A model wants their ids: their places "
        "in the vocabulary.",
    ),
    (
        return_ranks,
        "You give a merge its place in the list of merges as id. But ids count from the start of "
        "the vocabulary, where the 256 bytes stand.",
    ),
    (
        drop_what_was_not_merged,
        "Some bytes of the word are missing from your ids. A byte that no merge has touched is a "
        "token too.",
    ),
    (
        start_from_characters,
        "You start from characters. A character such as 'é' has two bytes and need not be in the "
        "vocabulary. Start from the single bytes.",
    ),
    (
        whole_word_or_bytes,
        "You know whole words and single bytes, and nothing between. Most words are made of "
        "several longer tokens: merge step by step.",
    ),
    (
        use_up_merges,
        "The ids are right, but you have emptied the caller's list of merges, and the next word "
        "will find none. Walk over it without taking anything out.",
    ),
)

ALTERNATIVES = alternatives(by_replaying, by_ids, by_one_place_at_a_time, by_recursion)

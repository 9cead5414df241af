"""Answers to the task "count pairs"."""

from collections import Counter, defaultdict
from itertools import pairwise

from assignments.answers import alternatives, mistakes


def count_each_word_once(words, counts):
    """Every word counts once, however often it occurs."""
    pairs = Counter()
    for ids in words:
        pairs.update(pairwise(ids))
    return pairs


def count_pairs_once_a_word(words, counts):
    """A pair counts once in a word, even if the word has it twice."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        for pair in set(pairwise(ids)):
            pairs[pair] += n
    return pairs


def count_without_overlaps(words, counts):
    """Pairs that overlap are counted once, as if they were merged already."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        last = None
        for pair in pairwise(ids):
            if pair == last and pair[0] == pair[1]:
                last = None
                continue
            pairs[pair] += n
            last = pair
    return pairs


def count_every_second_pair(words, counts):
    """The words are cut into pairs that do not touch."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        for place in range(0, len(ids) - 1, 2):
            pairs[ids[place], ids[place + 1]] += n
    return pairs


def count_across_words(words, counts):
    """The last id of a word and the first of the next count as neighbours."""
    pairs = Counter()
    last = None
    for ids, n in zip(words, counts, strict=True):
        for i in ids:
            if last is not None:
                pairs[last, i] += n
            last = i
    return pairs


def count_without_order(words, counts):
    """A pair and its reverse are taken for the same."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        for first, second in pairwise(ids):
            pairs[min(first, second), max(first, second)] += n
    return pairs


def count_without_last_pair(words, counts):
    """The last pair of each word is forgotten."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        for place in range(len(ids) - 2):
            pairs[ids[place], ids[place + 1]] += n
    return pairs


def overwrite_counts(words, counts):
    """A later word overwrites the count of an earlier one."""
    pairs = {}
    for ids, n in zip(words, counts, strict=True):
        inside = Counter(pairwise(ids))
        pairs.update({pair: times * n for pair, times in inside.items()})
    return pairs


def count_any_two(words, counts):
    """Any two ids of a word are counted, neighbours or not."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        for place, first in enumerate(ids):
            for second in ids[place + 1 :]:
                pairs[first, second] += n
    return pairs


def use_up_words(words, counts):
    """The words of the caller are used up."""
    pairs = Counter()
    for ids, n in zip(words, counts, strict=True):
        while len(ids) > 1:
            first = ids.pop(0)
            pairs[first, ids[0]] += n
    return pairs


def by_places(words, counts):
    """Walks over places, with a plain dictionary."""
    pairs = {}
    for w in range(len(words)):
        for place in range(1, len(words[w])):
            pair = (words[w][place - 1], words[w][place])
            pairs[pair] = pairs.get(pair, 0) + counts[w]
    return pairs


def by_shifted_copies(words, counts):
    """Lays the word beside itself, one place moved."""
    pairs = defaultdict(int)
    for ids, n in zip(words, counts, strict=True):
        following = ids[1:]
        for pair in zip(ids[: len(following)], following, strict=True):
            pairs[pair] += n
    return pairs


def by_counters(words, counts):
    """Counts inside each word first."""
    total = Counter()
    for ids, n in zip(words, counts, strict=True):
        for pair, times in Counter(pairwise(ids)).items():
            total[pair] += times * n
    return total


def by_repeating(words, counts):
    """Hands all occurrences to one Counter."""
    return Counter(
        pair
        for ids, n in zip(words, counts, strict=True)
        for pair in pairwise(ids)
        for _ in range(n)
    )


MISTAKES = mistakes(
    (
        count_each_word_once,
        "You find the right pairs, but a word that occurs five times gives each of its pairs five "
        "times. Look at what you do with the list counts.",
    ),
    (
        count_pairs_once_a_word,
        "Some words have the same pair at two places. You seem to collect the pairs of a word in "
        "something that holds each only once.",
    ),
    (
        count_without_overlaps,
        "In a run of three equal ids there are two pairs of neighbours. Merging will use each id "
        "once, but you are only counting here: do not skip any place.",
    ),
    (
        count_every_second_pair,
        "A word of three ids has two pairs: first and second, second and third. Look at the step "
        "of your loop: which pairs does it jump over?",
    ),
    (
        count_across_words,
        "In your answer a pair reaches from one word into the next. The words stand in a table, "
        "not in a text. Begin afresh with every word.",
    ),
    (
        count_without_order,
        "You seem to sort the two ids. But what stands left and what stands right matters: "
        "'on' and 'no' are different tokens.",
    ),
    (
        count_without_last_pair,
        "A word of two ids has one pair, and yours has none. Look at the place where your loop "
        "over a word ends.",
    ),
    (
        overwrite_counts,
        "If two words share a pair, your answer keeps only the last count. Add to what is there "
        "already, and do not replace it.",
    ),
    (
        count_any_two,
        "You count all combinations of two ids in a word. Only neighbours can be merged, so only "
        "neighbours count.",
    ),
    (
        use_up_words,
        "The counts are right, but afterwards the words of the caller are empty. Walk over each "
        "word without taking anything out of it; you need no pop for that.",
    ),
)

ALTERNATIVES = alternatives(by_places, by_shifted_copies, by_counters, by_repeating)

# %% right: Takes one draw after the other.
import itertools


def next_sentence_pairs(documents, draws):
    pairs, draws = [], iter(draws)
    for number, document in enumerate(documents):
        others = documents[:number] + documents[number + 1 :]
        for first, second in itertools.pairwise(document):
            coin, b, c = next(draws)
            if coin < 0.5:
                pairs.append((first, second, True))
            else:
                other = others[math.floor(b * len(others))]
                pairs.append((first, other[math.floor(c * len(other))], False))
    return pairs


# %% right: Counts over the own document's place instead of leaving it out.
import itertools


def next_sentence_pairs(documents, draws):
    pairs = []
    for number, document in enumerate(documents):
        for first, second in itertools.pairwise(document):
            a, b, c = draws[len(pairs)]
            if is_other := a >= 0.5:
                place = int(b * (len(documents) - 1))
                if place >= number:
                    place += 1
                second = documents[place][int(c * len(documents[place]))]
            pairs.append((first, second, not is_other))
    return pairs


# %% right: Returns copies of the sentences.
import itertools


def next_sentence_pairs(documents, draws):
    triples = [
        (number, first, second)
        for number, document in enumerate(documents)
        for first, second in itertools.pairwise(document)
    ]
    result = []
    for (number, first, second), (a, b, c) in zip(triples, draws, strict=True):
        others = list(documents)
        del others[number]
        other = others[int(b * len(others))]
        chosen = second if a < 0.5 else other[int(c * len(other))]
        result.append((list(first), list(chosen), bool(a < 0.5)))
    return result


# %% right: Takes draws from the end of a turned copy.
def next_sentence_pairs(documents, draws):
    stack, pairs = draws[::-1], []
    for number in range(len(documents)):
        last = len(documents[number]) - 1
        for place in range(last):
            a, b, c = stack.pop()
            source, index = documents[number], place + 1
            if not a < 0.5:
                others = [d for n, d in enumerate(documents) if number != n]
                source = others[int(len(others) * b // 1)]
                index = int(len(source) * c // 1)
            pairs.append((documents[number][place], source[index], a < 0.5))
    return pairs


# %% right: Walks along a flat list of places.
def next_sentence_pairs(documents, draws):
    flat = [(n, s) for n in range(len(documents)) for s in range(len(documents[n]))]
    openers = [(n, s) for n, s in flat if (n, s + 1) in flat]
    pairs = []
    for number, (n, s) in enumerate(openers):
        a, b, c = draws[number]
        sources = [m for m in range(len(documents)) if m != n]
        m = sources[int(b * len(sources))]
        there = (n, s + 1) if a < 0.5 else (m, int(c * len(documents[m])))
        pairs.append((documents[n][s], documents[there[0]][there[1]], there == (n, s + 1)))
    return pairs


# %% right: Builds the list from a generator.
def next_sentence_pairs(documents, draws):
    def pairs():
        unused = iter(draws)
        for number, document in enumerate(documents):
            rest = [*documents[:number], *documents[number + 1 :]]
            for place, first in enumerate(document):
                if place + 1 == len(document):
                    break
                a, b, c = next(unused)
                other = rest[int(b * len(rest))]
                yield (
                    (first, document[place + 1], True)
                    if a < 0.5
                    else (first, other[int(c * len(other))], False)
                )

    return list(pairs())


# %% right: plain
# the hint.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs


# %% right: places first
# a list of all places first; the number of the other document shifted by one behind the own.


def next_sentence_pairs(documents, draws):
    places = [(n, i) for n in range(len(documents)) for i in range(len(documents[n]) - 1)]
    result = []
    for (n, i), (a, b, c) in zip(places, draws):
        is_next = a < 0.5
        if is_next:
            second = documents[n][i + 1]
        else:
            m = int(b * (len(documents) - 1))
            m += m >= n
            second = documents[m][int(c * len(documents[m]))]
        result.append((list(documents[n][i]), list(second), is_next))
    return result


# %% right: generator
# a generator of pairs; the row of others made by a condition; copies.

import math


def next_sentence_pairs(documents, draws):
    def walk():
        used = 0
        for n, document in enumerate(documents):
            for i in range(1, len(document)):
                a, b, c = draws[used]
                used += 1
                if a >= 0.5:
                    row = [d for k, d in enumerate(documents) if k != n]
                    source = row[math.floor(b * len(row))]
                    yield document[i - 1][:], source[math.floor(c * len(source))][:], False
                else:
                    yield document[i - 1][:], document[i][:], True

    return list(walk())


# %% right: backwards
# from the end, with a stack of draws.


def next_sentence_pairs(documents, draws):
    stack, pairs = list(draws), []
    for n in reversed(range(len(documents))):
        document = documents[n]
        others = [*documents[:n], *documents[n + 1 :]]
        for i in range(len(document) - 2, -1, -1):
            a, b, c = stack.pop()
            other = others[int(len(others) * b)]
            second = other[int(len(other) * c)]
            pairs.append((document[i], document[i + 1] if a < 0.5 else second, a < 0.5))
    return pairs[::-1]


# %% right: takes the document out for a while
# takes the own document out of the caller's list and puts it back.
# shows: a list whose pop is forbidden.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n in range(len(documents)):
        document = documents.pop(n)
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = documents[int(b * len(documents))]
                pairs.append((first, other[int(c * len(other))], False))
        documents.insert(n, document)
    return pairs


# %% wrong: equal documents by index
# finds the number of a document by its words: of equal documents always the first.
# shows: documents A, B, A with A of two sentences; the pair of the last A, b = 0: A instead of B is first of the others.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for document in documents:
        own = documents.index(document)
        others = documents[:own] + documents[own + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs


# %% wrong: same object twice
# leaves the own document out by identity; one list may stand twice in documents.
# shows: d = [[1], [2]]; documents = [d, d, [[3]]]: d is left out twice.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for document in documents:
        others = [other for other in documents if other is not document]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs


# %% wrong: last sentence by its words
# the last sentence of a document is known by its words.
# shows: a document [[1], [2], [1]]: its first sentence opens a pair, too.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for place, sentence in enumerate(document):
            if sentence == document[-1]:
                continue
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((sentence, document[place + 1], True))
            else:
                other = others[int(b * len(others))]
                pairs.append((sentence, other[int(c * len(other))], False))
    return pairs


# %% wrong: the own one gives way to the next
# takes number b * (all documents), and if that is the own one, the next.
# shows: the first of three documents, b = 0.5: document 1 instead of 2.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                number = int(b * len(documents))
                if number == n:
                    number = (number + 1) % len(documents)
                other = documents[number]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs


# %% wrong: uses the draws up
# takes the draws out of the caller's list.
# shows: draws after the call.


def next_sentence_pairs(documents, draws):
    pairs = []
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = draws.pop(0)
            other = others[int(b * len(others))]
            wrong = other[int(c * len(other))]
            pairs.append((first, successor, True) if a < 0.5 else (first, wrong, False))
    return pairs


# %% wrong: is next by its words
# is_next says whether the second sentence reads like the successor.
# shows: the sentence of another document happens to be the same: True.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            other = others[int(b * len(others))]
            second = successor if a < 0.5 else other[int(c * len(other))]
            pairs.append((first, second, second == successor))
    return pairs


# %% wrong: short documents are left out
# documents of one sentence are never "another document".
# shows: the table's third pair.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = [d for i, d in enumerate(documents) if i != n and len(d) > 1]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others))]
                pairs.append((first, other[int(c * len(other))], False))
    return pairs


# %% wrong: one line of sentences
# one draw over all sentences of the others, so long documents come more often.
# shows: the table's third pair: [3] instead of [4, 5].


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = [s for d in documents[:n] + documents[n + 1 :] for s in d]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                pairs.append((first, others[int(b * len(others))], False))
    return pairs


# %% wrong: recursion
# one call inside the other for each pair; Python's stack is too short.
# shows: a document of 2000 sentences: RecursionError.


def next_sentence_pairs(documents, draws):
    def go_on(n, place, used):
        if n == len(documents):
            return []
        if place + 1 == len(documents[n]):
            return go_on(n + 1, 0, used)
        a, b, c = draws[used]
        others = documents[:n] + documents[n + 1 :]
        other = others[int(b * len(others))]
        first, second = documents[n][place : place + 2]
        pair = (first, second, True) if a < 0.5 else (first, other[int(c * len(other))], False)
        return [pair, *go_on(n, place + 1, used + 1)]

    return go_on(0, 0, 0)


# %% wrong: a little more against rounding
# adds 1e-6 before rounding down.
# shows: b = 0.4999999 with two others: the second instead of the first; b = 0.9999999: IndexError.


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for n, document in enumerate(documents):
        others = documents[:n] + documents[n + 1 :]
        for first, successor in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, successor, True))
            else:
                other = others[int(b * len(others) + 1e-6)]
                pairs.append((first, other[int(c * len(other) + 1e-6)], False))
    return pairs


# %% wrong: exact fractions
# multiplies exactly, with fractions, where the product of floats is rounded.
# shows: b = 0.58, n = 50: 28 in place of 29, as the float 0.58 is a little less and 0.58 * 50 is 29.0

from fractions import Fraction


def next_sentence_pairs(documents, draws):
    pairs, numbers = [], iter(draws)
    for place, document in enumerate(documents):
        others = documents[:place] + documents[place + 1 :]
        for first, follower in zip(document, document[1:]):
            a, b, c = next(numbers)
            if a < 0.5:
                pairs.append((first, follower, True))
            else:
                other = others[int(Fraction(b) * len(others))]
                pairs.append((first, other[int(Fraction(c) * len(other))], False))
    return pairs


# %% wrong: divides by the share
# asks how many shares of 1 / n fit into b, which is rounded in another way than b times n.
# shows: b = 0.6, n = 5: 0.6 // 0.2 is 2 in place of 3

def next_sentence_pairs(documents, draws):
    pairs, at = [], 0
    for number, document in enumerate(documents):
        others = [d for n, d in enumerate(documents) if n != number]
        for place in range(len(document) - 1):
            a, b, c = draws[at]
            at += 1
            if a < 0.5:
                pairs.append((document[place], document[place + 1], True))
                continue
            other = others[min(int(b // (1 / len(others))), len(others) - 1)]
            sentence = other[min(int(c // (1 / len(other))), len(other) - 1)]
            pairs.append((document[place], sentence, False))
    return pairs


# %% wrong: adds a hair before it rounds down
# A product just below a whole number is rounded up.
# shows: b = (1 - 2**-40) / 2 and two other documents
def next_sentence_pairs(documents, draws):
    """Pair each sentence with its successor, or with a sentence of another document."""
    pairs, draws = ([], iter(draws))
    for number, document in enumerate(documents):
        others = documents[:number] + documents[number + 1 :]
        for place, first in enumerate(document[:-1]):
            a, b, c = next(draws)
            second = document[place + 1]
            if a >= 0.5:
                other = others[int(b * len(others) + 1e-09)]
                second = other[int(c * len(other))]
            pairs.append((first, second, a < 0.5))
    return pairs

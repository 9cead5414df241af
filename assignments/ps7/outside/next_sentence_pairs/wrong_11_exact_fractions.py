# wrong: multiplies exactly, with fractions, where the product of floats is rounded.
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

# wrong: glues all documents into one list by sum(lists, []), which copies all that came before for each document; breaks "The time may grow only in proportion to the length of the text."
# shows: count_ngrams([["a"]] * n, 2, "<eos>"): 8 times the documents cost about 64 times the time once n is some ten thousand
from collections import Counter, defaultdict


def count_ngrams(documents, order, eos):
    stream = sum(([eos, *document, eos] for document in documents), [])
    counts, start, inside = defaultdict(Counter), 0, False
    for i, token in enumerate(stream):
        if token == eos and not inside:
            start, inside = i, True
            continue
        counts[tuple(stream[max(start, i - order + 1) : i])][token] += 1
        if token == eos:
            inside = False
    return counts

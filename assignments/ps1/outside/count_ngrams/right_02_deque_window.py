from collections import Counter
from collections import defaultdict
from collections import deque
import itertools


def count_ngrams(documents, order, eos):
    counts = defaultdict(Counter)
    for document in documents:
        window = deque([eos], maxlen=order - 1)
        for token in itertools.chain(document, [eos]):
            counts[tuple(window)][token] += 1
            window.append(token)
    return counts

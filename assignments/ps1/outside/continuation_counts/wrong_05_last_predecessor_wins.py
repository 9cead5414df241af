# wrong: a dict comprehension over histories: of two histories with one rest only the last is kept.
# shows: ("EOS", "the") and ("and", "the").

from collections import Counter


def continuation_counts(counts, order):
    return {
        (history if len(history) < order else history[1:]): (
            Counter(counter) if len(history) < order else Counter(dict.fromkeys(counter, 1))
        )
        for history, counter in counts.items()
    }

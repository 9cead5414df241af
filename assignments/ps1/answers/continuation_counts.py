# %% right: Collects the tokens before each n-gram in sets.
def continuation_counts(counts, order):
    before = defaultdict(set)
    result = {}
    for history, followers in counts.items():
        if len(history) < order:
            result[history] = followers.copy()
        else:
            for token in followers:
                before[(*history[1:], token)].add(history[0])
    for gram, predecessors in before.items():
        result.setdefault(gram[:-1], Counter())[gram[-1]] = len(predecessors)
    return result


# %% right: Updates counters with the keys.
def continuation_counts(counts, order):
    result = defaultdict(Counter)
    for history, followers in counts.items():
        if len(history) == order:
            result[history[1:]].update(list(followers))
        else:
            result[history].update(followers)
    return result


# %% right: Separates the starts from the others first.
def continuation_counts(counts, order):
    starts = {h: Counter(row) for h, row in counts.items() if len(h) < order}
    inner = Counter((h[1:], token) for h, row in counts.items() if len(h) == order for token in row)
    for (history, token), n in inner.items():
        starts.setdefault(history, Counter())[token] = n
    return starts


# %% right: Counts a row at a time in a plain dictionary, and makes a counter of it.
def continuation_counts(counts, order):
    result = {}
    shorter = {h if len(h) < order else h[1:] for h in counts}
    for history in shorter:
        longer = [row for h, row in counts.items() if len(h) == order and h[1:] == history]
        row = dict(counts[history]) if history in counts and len(history) < order else {}
        for token in {token for followers in longer for token in followers}:
            row[token] = row.get(token, 0) + sum(token in followers for followers in longer)
        result[history] = Counter(row)
    return result


# %% right: loop
from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) < order:
            new[history] = Counter(counter)
            continue
        shorter = new.setdefault(history[1:], Counter())
        for token, count in counter.items():
            if count > 0:
                shorter[token] += 1
    return new


# %% right: sets of predecessors
from collections import Counter
from collections import defaultdict


def continuation_counts(counts, order):
    before = defaultdict(set)
    new = {h: c.copy() for h, c in counts.items() if len(h) < order}
    for history, counter in counts.items():
        if len(history) == order:
            first, *rest = history
            for token in counter:
                before[tuple(rest), token].add(first)
    for (history, token), firsts in before.items():
        new.setdefault(history, Counter())[token] = len(firsts)
    return new


# %% right: groupby rest
from collections import Counter
import itertools


def continuation_counts(counts, order):
    full = [h for h in counts if len(h) == order]
    groups = {}
    for h in full:
        groups.setdefault(h[1:], []).append(counts[h])
    new = {rest: Counter(itertools.chain.from_iterable(group)) for rest, group in groups.items()}
    new.update((h, Counter(c)) for h, c in counts.items() if len(h) < order)
    return new


# %% right: counter addition
from collections import Counter
from collections import defaultdict


def continuation_counts(counts: dict, order: int) -> dict:
    new = defaultdict(Counter)
    for history in counts:
        full = len(history) >= order
        key = history[1:] if full else history
        ones = Counter({t: 1 if full else n for t, n in counts[history].items()})
        new[key].update(ones)
    return dict(new)


# %% right: flat first
from collections import Counter


def continuation_counts(counts, order):
    flat = Counter(
        (history[1:], token) for history, counter in counts.items() if len(history) == order for token in counter.keys()
    )
    new = {history: Counter(dict(counter)) for history, counter in counts.items() if len(history) != order}
    for (history, token), n in flat.items():
        if history not in new:
            new[history] = Counter()
        new[history][token] = n
    return new


# %% right: set of predecessors
# collects a set of predecessors for each n-gram, and takes their sizes
from collections import Counter, defaultdict


def continuation_counts(counts, order):
    before, result = defaultdict(set), {}
    for history in counts:
        if len(history) == order:
            first, *rest = history
            for token in counts[history]:
                before[tuple(rest), token].add(first)
        else:
            result[history] = Counter(dict(counts[history]))
    for (rest, token), seen in before.items():
        result.setdefault(rest, Counter())[token] += len(seen)
    return result


# %% wrong: shares short counters
# the Counters of short histories are handed on themselves: counting on in the result changes the old counts.
# shows: result[(eos,)]["x"] += 1, then the old table.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) < order:
            new[history] = counter
        else:
            new.setdefault(history[1:], Counter()).update(counter.keys())
    return new


# %% wrong: short means one token
# only histories of ONE token count as short: right for order 2, wrong for order 3, where (eos, w) is short too.
# shows: order 3 and more.

from collections import Counter
from collections import defaultdict


def continuation_counts(counts, order):
    new = defaultdict(Counter)
    for history, counter in counts.items():
        if len(history) == 1 and order > 1:
            new[history] += counter
        else:
            for token in counter:
                new[history[1:]][token] += 1
    return dict(new)


# %% wrong: begins with eos
# every history that begins with "<eos>" is kept as it is; a full one (eos, w) must lose its eos like any other. The name of eos is fixed besides.
# shows: order 1 with eos "<eos>"; other eos tokens.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if history[0] == "<eos>" and order > 1:
            new[history] = Counter(counter)
        else:
            for token in counter:
                new.setdefault(history[1:], Counter())[token] += 1
    return new


# %% wrong: sums the counts
# adds the counts, not 1 for each predecessor.
# shows: any pair seen twice.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        key = history if len(history) < order else history[1:]
        new[key] = new.get(key, Counter()) + counter
    return new


# %% wrong: last predecessor wins
# a dict comprehension over histories: of two histories with one rest only the last is kept.
# shows: ("EOS", "the") and ("and", "the").

from collections import Counter


def continuation_counts(counts, order):
    return {
        (history if len(history) < order else history[1:]): (
            Counter(counter) if len(history) < order else Counter(dict.fromkeys(counter, 1))
        )
        for history, counter in counts.items()
    }


# %% wrong: short ones as one
# the counts of short histories are set to 1 as well.
# shows: order 2, ("eos",): the 3.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        key = history[1:] if len(history) == order else history
        for token in counter:
            new.setdefault(key, Counter())[token] += 1
    return new


# %% wrong: drops short ones
# short histories are left out.
# shows: order 2 and more.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) == order:
            new.setdefault(history[1:], Counter()).update(list(counter))
    return new


# %% wrong: clears the old
# takes the histories out of the old table while it works.
# shows: counts after the call.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    while counts:
        history, counter = counts.popitem()
        if len(history) < order:
            new[history] = Counter(counter)
        else:
            new.setdefault(history[1:], Counter()).update(set(counter))
    return new


# %% wrong: end not start
# cuts off the LAST token of the history: what stood after, not before.
# shows: order 2 and more.

from collections import Counter


def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        key = history if len(history) < order else history[:-1]
        if len(history) < order:
            new[key] = Counter(counter)
        else:
            new.setdefault(key, Counter()).update(counter.keys())
    return new


# %% wrong: plain dicts
# the inner tables are plain dicts: asking for an unseen token is a KeyError (the contract: Counter).
# shows: result[history]["unseen"].

def continuation_counts(counts, order):
    new = {}
    for history, counter in counts.items():
        if len(history) < order:
            new[history] = dict(counter)
            continue
        inner = new.setdefault(history[1:], {})
        for token in counter:
            inner[token] = inner.get(token, 0) + 1
    return new


# %% wrong: longest history decides
# takes the longest history that it finds for a full one, in place of asking `order`; where every document is shorter than `order`, starts are taken for full histories; breaks "At the start of a document histories are shorter than order tokens ... Keep these histories and their counts as they are."
# shows: continuation_counts({(EOS,): Counter(a=2), (EOS, "a"): Counter({EOS: 2})}, 4): ("a",) appears, and its count is 1
from collections import Counter


def continuation_counts(counts, order):
    longest = max(len(history) for history in counts)
    result = {}
    for history, row in counts.items():
        if len(history) < longest:
            result.setdefault(history, Counter()).update(row)
        else:
            result.setdefault(history[1:], Counter()).update(row.keys())
    return result


# %% wrong: sorts the histories
# sorts the histories to group them; Python cannot sort numbers among strings or tuples; breaks "other kinds of token. A token may be a string, a number or a tuple."
# shows: continuation_counts({("<eos>",): Counter({3: 1}), (3,): Counter({"<eos>": 1})}, 1) raises a TypeError
from collections import Counter
from itertools import groupby


def continuation_counts(counts, order):
    starts = {history: Counter(row) for history, row in counts.items() if len(history) < order}
    full = sorted((h for h in counts if len(h) == order), key=lambda h: (h[1:], h[0]))
    for rest, group in groupby(full, key=lambda h: h[1:]):
        row = Counter()
        for history in group:
            row.update(list(counts[history]))
        starts[rest] = row
    return starts


# %% wrong: predecessors told apart by their text
# Predecessors are told apart by their text, so the number 1 and the string "1" are one: tokens of several kinds are promised.
# shows: order 1, {(1,): {"x": 2}, ("1",): {"x": 1}}: "x" counts 2
def continuation_counts(counts, order):
    sets, new = defaultdict(set), {}
    for history, row in counts.items():
        if len(history) < order:
            new[history] = Counter(row)
        else:
            for token in row:
                sets[history[1:], token].add(str(history[0]))
    for (history, token), seen in sets.items():
        new.setdefault(history, Counter())[token] = len(seen)
    return new

"""Answers to the task "continuation counts"."""

from collections import Counter, defaultdict

from assignments.answers import alternatives, mistakes


def continue_with_frequencies(counts, order):
    """Occurrences are added up instead of different tokens."""
    result = {}
    for history, followers in counts.items():
        shorter = history if len(history) < order else history[1:]
        row = result.setdefault(shorter, Counter())
        for token, n in followers.items():
            row[token] += n
    return result


def continue_forwards(counts, order):
    """The tokens after are counted instead of the tokens before."""
    result = {}
    for history, followers in counts.items():
        if len(history) < order:
            result[history] = Counter(followers)
        else:
            result.setdefault(history[:-1], Counter())[history[-1]] += len(followers)
    return result


def continue_without_starts(counts, order):
    """Histories at the start of a document are lost."""
    result = {}
    for history, followers in counts.items():
        if len(history) == order:
            result.setdefault(history[1:], Counter()).update(followers.keys())
    return result


def continue_starts_once(counts, order):
    """Histories at the start of a document are counted once each."""
    result = {}
    for history, followers in counts.items():
        shorter = history if len(history) < order else history[1:]
        result.setdefault(shorter, Counter()).update(followers.keys())
    return result


def continue_shorten_starts(counts, order):
    """Histories at the start of a document lose their eos."""
    result = {}
    for history, followers in counts.items():
        result.setdefault(history[1:], Counter()).update(followers.keys())
    return result


def continue_wrong_end(counts, order):
    """The last token of a history is dropped instead of the first."""
    result = {}
    for history, followers in counts.items():
        shorter = history if len(history) < order else history[:-1]
        row = result.setdefault(shorter, Counter())
        for token, n in followers.items():
            row[token] += n if len(history) < order else 1
    return result


def continue_always_unigrams(counts, order):
    """The history is forgotten: only order 1 comes out."""
    result = {(): Counter()}
    for followers in counts.values():
        result[()].update(followers.keys())
    return result


def continue_shared(counts, order):
    """The starts of the new counts are the old counters themselves."""
    result = {}
    for history, followers in counts.items():
        if len(history) < order:
            result[history] = followers
        else:
            result.setdefault(history[1:], Counter()).update(followers.keys())
    return result


def by_sets(counts, order):
    """Collects the tokens before each n-gram in sets."""
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


def by_update(counts, order):
    """Updates counters with the keys."""
    result = defaultdict(Counter)
    for history, followers in counts.items():
        if len(history) == order:
            result[history[1:]].update(list(followers))
        else:
            result[history].update(followers)
    return result


def by_two_steps(counts, order):
    """Separates the starts from the others first."""
    starts = {h: Counter(row) for h, row in counts.items() if len(h) < order}
    inner = Counter((h[1:], token) for h, row in counts.items() if len(h) == order for token in row)
    for (history, token), n in inner.items():
        starts.setdefault(history, Counter())[token] = n
    return starts


def by_plain_dictionaries(counts, order):
    """Counts in plain dictionaries, a row at a time."""
    result = {}
    shorter = {h if len(h) < order else h[1:] for h in counts}
    for history in shorter:
        longer = [row for h, row in counts.items() if len(h) == order and h[1:] == history]
        row = dict(counts[history]) if history in counts and len(history) < order else {}
        for token in {token for followers in longer for token in followers}:
            row[token] = row.get(token, 0) + sum(token in followers for followers in longer)
        result[history] = row
    return result


MISTAKES = mistakes(
    (
        continue_with_frequencies,
        "You add up how often an n-gram occurred. Kneser and Ney ask after how many different "
        "tokens it occurred. Each pair in counts is worth one, however frequent it is.",
    ),
    (
        continue_forwards,
        "You count what comes after. Continuation counts ask what comes before: the first "
        "token of the history is the one to be counted away.",
    ),
    (
        continue_without_starts,
        "At the start of a document, histories are shorter, and they disappear in your "
        "answer. Nothing can stand before them, so they keep what they have.",
    ),
    (
        continue_starts_once,
        "Nothing stands before the start of a document, so there is nothing different to "
        "count there. These histories keep their plain counts.",
    ),
    (
        continue_shorten_starts,
        "You drop the first token of every history, of those at the start of a document too. "
        "There the eos is all they have. Look at their length first.",
    ),
    (
        continue_wrong_end,
        "You drop the last token of the history. That is the one nearest to the target. The "
        "token before the n-gram is the first one.",
    ),
    (
        continue_always_unigrams,
        "Your answer fits order 1 only. At higher orders a history remains: all tokens of the "
        "old one but the first.",
    ),
    (
        continue_shared,
        "The numbers are right, but some of your counters are the very objects of the "
        "argument. A later change of one changes the other. Make a new counter.",
    ),
)

ALTERNATIVES = alternatives(by_sets, by_update, by_two_steps, by_plain_dictionaries)

"""Answers to the task "learn the merges".

Like a student's, they call the functions of the tasks before.
"""

from collections import Counter, defaultdict
from itertools import pairwise

from assignments.answers import alternatives, mistakes
from assignments.answers.ps2.count_pairs import by_places as count_pairs
from assignments.answers.ps2.merge_pair import by_skipping as merge_pair


def ties_to_the_largest(words, n_tokens, min_count):
    """Of equally frequent pairs, the one with the largest ids is merged."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def ties_to_the_first_seen(words, n_tokens, min_count):
    """Of equally frequent pairs, the one that was counted first is merged."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = max(pairs, key=pairs.get, default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def ties_by_spelling(words, n_tokens, min_count):
    """Equally frequent pairs are compared by their bytes, not by their ids."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda p: (-pairs[p], tokens[p[0]], tokens[p[1]]), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def stop_at_min_count(words, n_tokens, min_count):
    """A pair that occurs exactly min_count times is not merged any more."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] <= min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def ignore_min_count(words, n_tokens, min_count):
    """Rare pairs are merged as well: min_count is not read."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def fail_without_pairs(words, n_tokens, min_count):
    """It fails when no pair is left."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        if pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def ignore_word_counts(words, n_tokens, min_count):
    """Every word counts once, however often it occurs."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled = [list(word) for word in words]
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, [1] * len(spelled))
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def count_merges_only(words, n_tokens, min_count):
    """The 256 bytes are not counted among the tokens."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(merges) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def one_merge_too_many(words, n_tokens, min_count):
    """One merge too many is learned."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) <= n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def count_once(words, n_tokens, min_count):
    """The pairs are counted once, and never again after a merge."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    pairs = count_pairs([list(word) for word in words], list(words.values()))
    for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        if len(tokens) >= n_tokens or pairs[pair] < min_count:
            break
        merges.append((tokens[pair[0]], tokens[pair[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def return_ids(words, n_tokens, min_count):
    """The merges are pairs of ids, not of bytes."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append(best)
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return tokens, merges


def learn_across_words(words, n_tokens, min_count):
    """The words are joined to one text, and merges cross their borders."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    ids = [b for word, n in words.items() for b in word * n]
    while len(tokens) < n_tokens:
        pairs = Counter(pairwise(ids))
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        ids = merge_pair(ids, best, len(tokens))
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def use_up_words(words, n_tokens, min_count):
    """The words of the caller are used up."""
    tokens, merges, spelled, counts = [bytes([b]) for b in range(256)], [], [], []
    while words:
        word, n = words.popitem()
        spelled.append(list(word))
        counts.append(n)
    while len(tokens) < n_tokens:
        pairs = count_pairs(spelled, counts)
        best = min(pairs, key=lambda pair: (-pairs[pair], pair), default=None)
        if best is None or pairs[best] < min_count:
            break
        spelled = [merge_pair(ids, best, len(tokens)) for ids in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(b"".join(merges[-1]))
    return tokens, merges


def by_pieces(words, n_tokens, min_count):
    """Trains on bytes objects and asks for ids only where a tie must be decided."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    table = {tuple(bytes([b]) for b in word): n for word, n in words.items()}
    while len(tokens) < n_tokens:
        pairs = Counter()
        for pieces, n in table.items():
            for pair in pairwise(pieces):
                pairs[pair] += n
        frequent = [pair for pair, n in pairs.items() if n == max(pairs.values()) >= min_count]
        if not frequent:
            break
        first, second = min(frequent, key=lambda p: (tokens.index(p[0]), tokens.index(p[1])))
        made = first + second
        table = {tuple(merge_pair(p, (first, second), made)): n for p, n in table.items()}
        tokens.append(made)
        merges.append((first, second))
    return tokens, merges


def by_sorting(words, n_tokens, min_count):
    """Sorts all pairs and takes the first, for a fixed number of steps."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled = {word: list(word) for word in words}
    for made in range(256, n_tokens):
        pairs = count_pairs(list(spelled.values()), [words[word] for word in spelled])
        ranked = sorted((-n, first, second) for (first, second), n in pairs.items())
        if not ranked or -ranked[0][0] < min_count:
            return tokens, merges
        _, first, second = ranked[0]
        for word, ids in spelled.items():
            spelled[word] = merge_pair(ids, (first, second), made)
        merges.append((tokens[first], tokens[second]))
        tokens.append(tokens[first] + tokens[second])
    return tokens, merges


def by_scanning(words, n_tokens, min_count):
    """Compares each pair with the best one so far."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled = [(list(word), n) for word, n in words.items()]
    while len(tokens) < n_tokens:
        pairs = defaultdict(int)
        for ids, n in spelled:
            for place in range(len(ids) - 1):
                pairs[ids[place], ids[place + 1]] += n
        best, most = None, 0
        for pair, n in pairs.items():
            if n > most or (n == most and pair < best):
                best, most = pair, n
        if best is None or most < min_count:
            break
        spelled = [(merge_pair(ids, best, len(tokens)), n) for ids, n in spelled]
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return tokens, merges


def by_mending_counts(words, n_tokens, min_count):
    """Counts once, and then mends the counts of the words that a merge has changed."""
    tokens, merges = [bytes([b]) for b in range(256)], []
    spelled, counts = [list(word) for word in words], list(words.values())
    pairs = Counter(count_pairs(spelled, counts))
    while len(tokens) < n_tokens and pairs:
        best = max(pairs, key=lambda pair: (pairs[pair], -pair[0], -pair[1]))
        if pairs[best] < min_count:
            break
        for w, ids in enumerate(spelled):
            after = merge_pair(ids, best, len(tokens))
            if after != ids:
                pairs.subtract(count_pairs([ids], [counts[w]]))
                pairs.update(count_pairs([after], [counts[w]]))
                spelled[w] = after
        pairs = +pairs  # without those that have fallen to 0
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append((tokens[best[0]], tokens[best[1]]))
    return tokens, merges


MISTAKES = mistakes(
    (
        ties_to_the_largest,
        "Your merges are right as long as one pair is the most frequent. Of equals, the smaller "
        "ids should win. A max over (count, pair) prefers the larger ones.",
    ),
    (
        ties_to_the_first_seen,
        "Your merges are right as long as one pair is the most frequent. Of equals you take the "
        "one that was counted first, which depends on the order of the words.",
    ),
    (
        ties_by_spelling,
        "You decide ties by the alphabet. The rule asks for ids: a single byte is older than any "
        "merge, and so it comes first, whatever its letter.",
    ),
    (
        stop_at_min_count,
        "A pair that occurs exactly min_count times is frequent enough. Look at the comparison "
        "with which you stop.",
    ),
    (
        ignore_min_count,
        "You learn merges from pairs that are too rare: nothing in your answer seems to read "
        "min_count. Compare it with the count of the best pair.",
    ),
    (
        fail_without_pairs,
        "If every word is one token, no pair is left, and then your search for the best one fails. "
        "Ask first whether there is any.",
    ),
    (
        ignore_word_counts,
        "You seem to count each word once. A word that occurs six times gives each of its pairs "
        "six times. Look at what you do with the values of the dict.",
    ),
    (
        count_merges_only,
        "You learn n_tokens merges. But the 256 bytes are tokens as well, and n_tokens includes "
        "them. Which length do you compare with it?",
    ),
    (
        one_merge_too_many,
        "You learn one merge more than there is room for. Look at the condition of your loop when "
        "the vocabulary is just full.",
    ),
    (
        count_once,
        "You count the pairs once, at the start. But a merge makes new pairs and destroys old "
        "ones, so the counts must be renewed after each.",
    ),
    (
        return_ids,
        "The right pairs, but you return their ids. A merge is written down as two bytes objects: "
        "look up the two tokens.",
    ),
    (
        learn_across_words,
        "You seem to join the words to one text. Then the end of a word and the start of the next "
        "become a pair. Keep one list of ids for each word.",
    ),
    (
        use_up_words,
        "The merges are right, but the dict of the caller is empty afterwards. Read the words "
        "without taking them out.",
    ),
)

ALTERNATIVES = alternatives(by_pieces, by_sorting, by_scanning, by_mending_counts)

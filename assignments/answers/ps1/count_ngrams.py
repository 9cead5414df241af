"""Answers to the task "count n-grams"."""

from collections import Counter, defaultdict, deque

from assignments.answers import alternatives, mistakes


def count_without_start(documents, order, eos):
    """The first tokens of a document have no eos before them."""
    counts = {}
    for document in documents:
        padded = [*document, eos]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


def count_without_end(documents, order, eos):
    """The end of a document is not counted as a target."""
    counts = {}
    for document in documents:
        padded = [eos, *document]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


def count_with_full_padding(documents, order, eos):
    """The start of a document is padded with several eos."""
    counts = {}
    for document in documents:
        padded = [eos] * (order - 1) + [*document, eos]
        for t in range(order - 1, len(padded)):
            history = tuple(padded[t - order + 1 : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


def count_across_documents(documents, order, eos):
    """Histories reach back into the document before."""
    counts = {}
    stream = [eos]
    for document in documents:
        stream += [*document, eos]
    for t in range(1, len(stream)):
        history = tuple(stream[max(0, t - order + 1) : t])
        counts.setdefault(history, Counter())[stream[t]] += 1
    return counts


def count_one_order_too_many(documents, order, eos):
    """Histories are one token too long."""
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


def count_full_histories_only(documents, order, eos):
    """Targets with a shorter history are skipped."""
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(max(1, order - 1), len(padded)):
            history = tuple(padded[t - order + 1 : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


def count_start_as_target(documents, order, eos):
    """The eos at the start is counted as a target."""
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


def count_last_document_only(documents, order, eos):
    """The counts start afresh with every document."""
    for document in documents:
        counts = {}
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] += 1
    return counts


def count_types(documents, order, eos):
    """Each follower is counted once, however often it came."""
    counts = {}
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            history = tuple(padded[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[padded[t]] = 1
    return counts


def count_in_place(documents, order, eos):
    """The caller's documents are changed."""
    counts = {}
    for document in documents:
        document.insert(0, eos)
        document.append(eos)
        for t in range(1, len(document)):
            history = tuple(document[max(0, t - order + 1) : t])
            counts.setdefault(history, Counter())[document[t]] += 1
    return counts


def count_by_searching(documents, order, eos):
    """The whole text is searched again for every n-gram."""
    grams = []
    for document in documents:
        padded = [eos, *document, eos]
        for t in range(1, len(padded)):
            grams.append((tuple(padded[max(0, t - order + 1) : t]), padded[t]))
    counts = {}
    for history, token in grams:
        counts.setdefault(history, Counter())[token] = grams.count((history, token))
    return counts


def by_defaultdict(documents, order, eos):
    """Returns a defaultdict."""
    counts = defaultdict(Counter)
    for document in documents:
        history = (eos,)[: order - 1]
        for token in [*document, eos]:
            counts[history][token] += 1
            history = (*history, token)[-(order - 1) :] if order > 1 else ()
    return counts


def by_window(documents, order, eos):
    """Slides a window of limited length."""
    counts = {}
    for document in documents:
        window = deque([eos], maxlen=max(order - 1, 1))
        for token in (*document, eos):
            history = tuple(window) if order > 1 else ()
            if history not in counts:
                counts[history] = Counter()
            counts[history][token] += 1
            window.append(token)
    return counts


def by_plain_dictionaries(documents, order, eos):
    """Counts in plain dictionaries."""
    counts = {}
    for document in documents:
        padded = (eos, *document, eos)
        for end in range(2, len(padded) + 1):
            *history, token = padded[max(0, end - order) : end]
            row = counts.setdefault(tuple(history), {})
            row[token] = row.get(token, 0) + 1
    return counts


def by_grams(documents, order, eos):
    """Counts whole n-grams first and splits them afterwards."""
    grams = Counter(
        tuple(padded[max(0, end - order) : end])
        for padded in ([eos, *document, eos] for document in documents)
        for end in range(2, len(padded) + 1)
    )
    counts = {}
    for gram, n in grams.items():
        counts.setdefault(gram[:-1], Counter())[gram[-1]] = n
    return counts


MISTAKES = mistakes(
    (
        count_without_start,
        "You count the inside of each document well. But the first token has a history too: "
        "the eos before it. Look at what you put before the tokens of a document.",
    ),
    (
        count_without_end,
        "A model must also learn when to stop. Look at what you put after the last token of a "
        "document, and whether your loop reaches it.",
    ),
    (
        count_with_full_padding,
        "Many textbooks pad with several start symbols. In this course one eos is enough, and "
        "the first histories are simply shorter. Look at the list you begin with.",
    ),
    (
        count_across_documents,
        "You seem to join all documents into one text. Then a history reaches over the eos "
        "into another document. Treat each document on its own.",
    ),
    (
        count_one_order_too_many,
        "An n-gram of order 3 is two tokens of history and one target. Count the tokens in "
        "your history at order 2: should there be two?",
    ),
    (
        count_full_histories_only,
        "The first targets of a document have fewer than order - 1 tokens before them, and "
        "they count as well. Look at the position where your loop starts.",
    ),
    (
        count_start_as_target,
        "Nobody has to guess the eos at the start: it is given. Look at the first position "
        "that your loop treats as a target.",
    ),
    (
        count_last_document_only,
        "Your answer knows one document only. Look at the place where the empty dictionary is "
        "made: is it inside the loop?",
    ),
    (
        count_types,
        "You note that a token came after a history, but not how often. Look at the line that "
        "stores the count: does it add?",
    ),
    (
        count_in_place,
        "The counts are right, but the documents of the caller now contain eos. Make a new "
        "list for the padded document, and leave the old one alone.",
    ),
    (
        count_by_searching,
        "The counts are right, but for each n-gram you go through the whole text again. Twice "
        "the text then takes four times as long. One walk over the text is enough.",
    ),
)

ALTERNATIVES = alternatives(by_defaultdict, by_window, by_plain_dictionaries, by_grams)

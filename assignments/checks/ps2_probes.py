"""What the checks of problem set 2 ask of an answer.

Probes travel into the sandbox as text, so each stands alone: it imports what it needs and reads no
global. Ids may come back as NumPy's integers; they are made plain before they travel.
"""


def count_once(implementation, inputs):
    """Return the counts as a plain dictionary."""
    import operator

    pairs = implementation(inputs["words"], inputs["counts"])
    return {pair: operator.index(n) for pair, n in pairs.items()}


def count_twice(implementation, inputs):
    """Return the first counts after a second call, and what became of the arguments."""
    import operator

    words, counts = inputs["words"], inputs["counts"]
    first = implementation(words, counts)
    implementation(words[:1], counts[:1])
    return {pair: operator.index(n) for pair, n in first.items()}, words, counts


def merge_all(implementation, inputs):
    """Return one list a question."""
    return [implementation(*question) for question in inputs["questions"]]


def merge_and_change(implementation, inputs):
    """Return the results, and the arguments after the results have been changed."""
    results = [implementation(*question) for question in inputs["questions"]]
    copies = [list(ids) for ids in results]
    for ids in results:
        ids.append(7)
    return copies, inputs["questions"]


def learn(implementation, inputs):
    """Return tokens and merges."""
    tokens, merges = implementation(inputs["words"], inputs["n_tokens"], inputs["min_count"])
    return list(tokens), [tuple(pair) for pair in merges]


def learn_twice(implementation, inputs):
    """Return what was learned first, after a second call, and what became of the words."""
    words = inputs["words"]
    tokens, merges = implementation(words, inputs["n_tokens"], inputs["min_count"])
    implementation(dict(list(words.items())[:1]), 257, 1)
    return (list(tokens), [tuple(pair) for pair in merges]), list(words.items())


def encode_words(implementation, inputs):
    """Return the ids of each word."""
    import operator

    vocabulary, merges = inputs["vocabulary"], inputs["merges"]
    return [
        [operator.index(i) for i in implementation(word, vocabulary, merges)]
        for word in inputs["words"]
    ]


def encode_words_and_keep(implementation, inputs):
    """Return the ids of each word, and the vocabulary and the merges after that."""
    import operator

    vocabulary, merges = inputs["vocabulary"], inputs["merges"]
    ids = [
        [operator.index(i) for i in implementation(word, vocabulary, merges)]
        for word in inputs["words"]
    ]
    return ids, vocabulary, merges


def encode_texts(implementation, inputs):
    """Return the ids of each text."""
    import operator

    vocabulary, merges, pattern = inputs["vocabulary"], inputs["merges"], inputs["pattern"]
    return [
        [operator.index(i) for i in implementation(text, vocabulary, merges, pattern)]
        for text in inputs["texts"]
    ]


def encode_texts_and_keep(implementation, inputs):
    """Return the ids of each text, and the vocabulary and the merges after that."""
    import operator

    vocabulary, merges, pattern = inputs["vocabulary"], inputs["merges"], inputs["pattern"]
    ids = [
        [operator.index(i) for i in implementation(text, vocabulary, merges, pattern)]
        for text in inputs["texts"]
    ]
    return ids, vocabulary, merges


def decode_all(implementation, inputs):
    """Return the text of each list of ids."""
    return [implementation(ids, inputs["vocabulary"]) for ids in inputs["lists"]]


def decode_or_refuse(implementation, inputs):
    """Return the text of each list of ids, or that it was refused as it should be."""
    texts = []
    for ids in inputs["lists"]:
        try:
            texts.append(implementation(ids, inputs["vocabulary"]))
        except ValueError:
            texts.append(None)
    return texts


def decode_and_keep(implementation, inputs):
    """Return the texts, and the arguments after them."""
    texts = [implementation(ids, inputs["vocabulary"]) for ids in inputs["lists"]]
    return texts, inputs["lists"], inputs["vocabulary"]


def measure(implementation, inputs):
    """Return how many bytes a token covers, by a tokenizer that knows a few texts by heart."""

    class Tokenizer:
        def encode(self, text):
            return list(inputs["ids"][text])

    return float(implementation(Tokenizer(), inputs["texts"]))


def measure_or_refuse(implementation, inputs):
    """Do as `measure`, or say that the texts were refused."""

    class Tokenizer:
        def encode(self, text):
            return list(inputs["ids"][text])

    try:
        return float(implementation(Tokenizer(), inputs["texts"]))
    except ValueError:
        return None


def measure_and_keep(implementation, inputs):
    """Return the measure, and what became of the texts and of the ids."""

    class Tokenizer:
        def encode(self, text):
            return inputs["ids"][text]

    return float(implementation(Tokenizer(), inputs["texts"])), inputs["texts"], inputs["ids"]

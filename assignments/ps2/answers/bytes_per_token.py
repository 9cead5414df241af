# %% right: Counts both in one walk.
def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in texts:
        n_bytes += len(bytes(text, "utf-8"))
        n_tokens += len(tokenizer.encode(text))
    if not n_tokens:
        raise ValueError("there is no token")
    return n_bytes / n_tokens


# %% right: Joins the texts to count bytes, and the ids to count tokens.
def bytes_per_token(tokenizer, texts):
    ids = [i for text in texts for i in tokenizer.encode(text)]
    if ids:
        return len("".join(texts).encode("utf-8")) / len(ids)
    raise ValueError("there is no token")


# %% right: Divides first and asks afterwards.
def bytes_per_token(tokenizer, texts):
    n_tokens = sum(map(len, map(tokenizer.encode, texts)))
    try:
        return sum(len(text.encode()) for text in texts) / n_tokens
    except ZeroDivisionError:
        raise ValueError("there is no token") from None


# %% right: Sums up columns of pairs.
def bytes_per_token(tokenizer, texts):
    table = [(len(text.encode("utf8")), len(tokenizer.encode(text))) for text in texts]
    n_bytes, n_tokens = (sum(column) for column in zip(*table, (0, 0), strict=True))
    if n_tokens < 1:
        raise ValueError("there is no token")
    return n_bytes * 1.0 / n_tokens


# %% right: sums
def bytes_per_token(tokenizer, texts):
    n_bytes = sum(len(text.encode("utf-8")) for text in texts)
    n_tokens = sum(len(tokenizer.encode(text)) for text in texts)
    if n_tokens == 0:
        raise ValueError("the texts give no tokens")
    return n_bytes / n_tokens


# %% right: try except
def bytes_per_token(tokenizer, texts):
    n_bytes, n_tokens = 0, 0
    for text in texts:
        n_bytes += len(bytes(text, "utf-8"))
        n_tokens += len(tokenizer.encode(text))
    try:
        return n_bytes / n_tokens
    except ZeroDivisionError:
        raise ValueError("no token in all the texts") from None


# %% right: all ids in a list
def bytes_per_token(tokenizer, texts):
    ids = [i for text in texts for i in tokenizer.encode(text)]
    if not ids:
        raise ValueError("no ids")
    return len("".join(texts).encode()) / len(ids)


# %% right: map and zip
def bytes_per_token(tokenizer, texts: list[str]) -> float:
    def measure(text):
        return len(text.encode("utf-8")), len(tokenizer.encode(text))

    totals = [sum(column) for column in zip(*map(measure, texts))]
    if not totals or not totals[1]:
        raise ValueError("nothing to divide by")
    return totals[0] / totals[1]


# %% right: width of characters
from collections import Counter


def _width(character):
    code = ord(character)
    return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)


def bytes_per_token(tokenizer, texts):
    tally = Counter()
    for text in texts:
        tally["bytes"] += sum(map(_width, text))
        tally["tokens"] += len(list(tokenizer.encode(text)))
    if tally["tokens"] < 1:
        raise ValueError("no tokens")
    return tally["bytes"] / tally["tokens"]


# %% right: zero division
# one long byte string is measured, and the division by 0 itself is the test
from itertools import chain


def bytes_per_token(tokenizer, texts):
    n_tokens = len(list(chain.from_iterable(map(tokenizer.encode, texts))))
    try:
        return len("".join(texts).encode()) / n_tokens
    except ZeroDivisionError:
        raise ValueError("there is no token to divide by") from None


# %% wrong: tokenless texts left out
# texts that give no token are left out with their bytes; "all bytes of the texts" count.
# shows: ["  ", "a"] with a tokenizer that cuts at spaces: 3 bytes, 1 token.

def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in texts:
        ids = tokenizer.encode(text)
        if ids:
            n_bytes += len(text.encode("utf-8"))
            n_tokens += len(ids)
    if not n_tokens:
        raise ValueError("no tokens")
    return n_bytes / n_tokens


# %% wrong: joined
# joins all texts and encodes once: tokens may cross the border, and a stateful or counting tokenizer sees one text.
# shows: ["ab", "cd"] with a tokenizer that cuts at spaces: 2 tokens, here 1.

def bytes_per_token(tokenizer, texts):
    text = "".join(texts)
    n = len(tokenizer.encode(text))
    if n == 0:
        raise ValueError("no tokens")
    return len(text.encode()) / n


# %% wrong: different ids
# counts DIFFERENT ids of a text.
# shows: a text with one id twice.

def bytes_per_token(tokenizer, texts):
    n = sum(len(set(tokenizer.encode(t))) for t in texts)
    if n == 0:
        raise ValueError("no tokens")
    return sum(len(t.encode("utf-8")) for t in texts) / n


# %% wrong: repeated texts once
# equal texts count once (set).
# shows: ["a", "a", "bcd"].

def bytes_per_token(tokenizer, texts):
    different = set(texts)
    n = sum(len(tokenizer.encode(t)) for t in different)
    if not n:
        raise ValueError("no tokens")
    return sum(len(t.encode("utf-8")) for t in different) / n


# %% wrong: rounded
# rounds to two digits.
# shows: 10 bytes in 3 tokens.

def bytes_per_token(tokenizer, texts):
    n = sum(len(tokenizer.encode(t)) for t in texts)
    if not n:
        raise ValueError("no tokens")
    return round(sum(len(t.encode("utf-8")) for t in texts) / n, 2)


# %% wrong: error at the first empty
# raises as soon as ONE text gives no token; only if the texts give none AT ALL.
# shows: ["", "a"].

def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in texts:
        n = len(tokenizer.encode(text))
        if n == 0:
            raise ValueError("a text without tokens")
        n_tokens += n
        n_bytes += len(text.encode("utf-8"))
    return n_bytes / n_tokens


# %% wrong: empty list
# an empty list of texts gives 0.0 (or a ZeroDivisionError), not a ValueError.
# shows: texts = [].

def bytes_per_token(tokenizer, texts):
    if not texts:
        return 0.0
    n = sum(len(tokenizer.encode(t)) for t in texts)
    if n == 0:
        raise ValueError("no tokens")
    return sum(len(t.encode("utf-8")) for t in texts) / n


# %% wrong: characters
# counts characters where they are in the first plane... two bytes each beyond ASCII: right for é, wrong for € (3) and emoji (4).
# shows: "€", "日本", "👩".

def bytes_per_token(tokenizer, texts):
    n = sum(len(tokenizer.encode(t)) for t in texts)
    if n == 0:
        raise ValueError("no tokens")
    return sum(1 if ord(c) < 128 else 2 for t in texts for c in t) / n


# %% wrong: mean of ratios
# the mean of the ratios of the texts.
# shows: texts of different length.

def bytes_per_token(tokenizer, texts):
    ratios = []
    for t in texts:
        n = len(tokenizer.encode(t))
        if n:
            ratios.append(len(t.encode("utf-8")) / n)
    if not ratios:
        raise ValueError("no tokens")
    return sum(ratios) / len(ratios)


# %% wrong: stripped
# white space at both ends is stripped before the bytes are counted.
# shows: "a b " (4 bytes).

def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in map(str.strip, texts):
        n_bytes += len(text.encode("utf-8"))
        n_tokens += len(tokenizer.encode(text))
    if n_tokens == 0:
        raise ValueError("no tokens")
    return n_bytes / n_tokens


# %% wrong: zero division error
# raises ZeroDivisionError, which is no ValueError.
# shows: texts without a token.

def bytes_per_token(tokenizer, texts):
    return sum(len(t.encode("utf-8")) for t in texts) / sum(len(tokenizer.encode(t)) for t in texts)


# %% wrong: joins with line ends
# encodes all texts at once, with line ends between them; breaks "texts: encode each one apart"
# shows: a tokenizer of single bytes and ["a", "b"]: 2 / 3 in place of 1.0
def bytes_per_token(tokenizer, texts):
    n_tokens = len(tokenizer.encode("\n".join(texts)))
    if n_tokens == 0:
        raise ValueError("the texts give no token")
    return sum(len(text.encode("utf-8")) for text in texts) / n_tokens


# %% wrong: forgets bytes without tokens
# leaves out the bytes of a text that gives no token; breaks "all bytes of the texts in UTF-8, divided by all their tokens"
# shows: a tokenizer that cuts at spaces, ["    ", "ab"]: 2.0 in place of 6.0
def bytes_per_token(tokenizer, texts):
    n_bytes = n_tokens = 0
    for text in texts:
        ids = tokenizer.encode(text)
        if not ids:
            continue
        n_bytes += len(text.encode("utf-8"))
        n_tokens += len(ids)
    if not n_tokens:
        raise ValueError("the texts give no token")
    return n_bytes / n_tokens


# %% wrong: empty texts passed over
# Empty texts are passed over, but a tokenizer may give them a token too, such as one for the start, and all tokens count.
# shows: texts ["", "ab"], of one token each: 1.0
def bytes_per_token(tokenizer, texts):
    n_bytes, n_tokens = 0, 0
    for text in texts:
        if not text:
            continue
        n_bytes += len(text.encode())
        n_tokens += len(tokenizer.encode(text))
    if not n_tokens:
        raise ValueError("no tokens")
    return n_bytes / n_tokens

# %% right: Fills a bytearray and asks range whether an id exists.
def decode(ids, vocabulary):
    data = bytearray()
    for i in ids:
        if i not in range(len(vocabulary)):
            raise ValueError(f"there is no id {i}")
        token = vocabulary[i]
        if not isinstance(token, str):
            data.extend(token)
    return data.decode(errors="replace")


# %% right: Adds up bytes objects.
def decode(ids, vocabulary):
    data, size = b"", len(vocabulary)
    for i in ids:
        if i < 0 or i >= size:
            raise ValueError(f"{i} is not below {size}")
        data += vocabulary[i] if type(vocabulary[i]) is bytes else b""
    return str(data, "utf-8", "replace")


# %% right: Looks ids up in a dictionary.
def decode(ids, vocabulary):
    token_of = {i: b"" if isinstance(t, str) else t for i, t in enumerate(vocabulary)}
    try:
        tokens = [token_of[i] for i in ids]
    except KeyError as error:
        raise ValueError(f"no token has the id {error}") from None
    return b"".join(tokens).decode("utf-8", "replace")


# %% right: Checks the smallest and the largest id before anything else.
def decode(ids, vocabulary):
    if ids and not (min(ids) >= 0 and max(ids) < len(vocabulary)):
        raise ValueError(f"ids are {min(ids)} to {max(ids)}; there are {len(vocabulary)}")
    tokens = (vocabulary[i] for i in ids)
    return b"".join(t for t in tokens if isinstance(t, bytes)).decode("utf-8", errors="replace")


# %% right: join once
def decode(ids, vocabulary):
    data = bytearray()
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(f"the id {i} is not in the vocabulary of {len(vocabulary)} tokens")
        token = vocabulary[i]
        if isinstance(token, bytes):
            data += token
    return data.decode("utf-8", errors="replace")


# %% right: check first
def decode(ids, vocabulary):
    known = range(len(vocabulary))
    strangers = [i for i in ids if i not in known]
    if strangers:
        raise ValueError(f"unknown ids: {strangers}")
    return str(b"".join(filter(lambda t: not isinstance(t, str), map(vocabulary.__getitem__, ids))), "utf-8", "replace")


# %% right: exceptions translated
def decode(ids: list[int], vocabulary: list) -> str:
    table = dict(enumerate(vocabulary))
    try:
        tokens = [table[i] for i in ids]
    except KeyError as missing:
        raise ValueError(f"no token has the id {missing}") from None
    return b"".join(t for t in tokens if type(t) is not str).decode(errors="replace")


# %% right: incremental decoder
import codecs


def decode(ids, vocabulary):
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    pieces = []
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
        if not isinstance(vocabulary[i], str):
            pieces.append(decoder.decode(vocabulary[i]))
    pieces.append(decoder.decode(b"", final=True))
    return "".join(pieces)


# %% right: bytesio and match
import io


def decode(ids, vocabulary):
    out = io.BytesIO()
    for i in ids:
        match (vocabulary[i] if 0 <= i < len(vocabulary) else None):
            case bytes():
                out.write(vocabulary[i])
            case str():
                pass
            case _:
                raise ValueError(f"no token has the id {i}")
    return out.getvalue().decode("utf-8", "replace")


# %% right: bytearray and str
# a dictionary of ids says what exists, a bytearray grows, and str() makes the text
def decode(ids, vocabulary):
    by_id = dict(enumerate(vocabulary))
    data = bytearray()
    for i in ids:
        try:
            token = by_id[i]
        except KeyError:
            raise ValueError(f"no token has the id {i}") from None
        data.extend(b"" if isinstance(token, str) else token)
    return str(data, "utf-8", "replace")


# %% wrong: id zero lost
# "if i" leaves out the id 0, the zero byte.
# shows: decode([97, 0, 98]) must hold "\x00".

def decode(ids, vocabulary):
    data = b""
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(f"no token has the id {i}")
        if i and isinstance(vocabulary[i], bytes):
            data += vocabulary[i]
    return data.decode("utf-8", errors="replace")


# %% wrong: last is the only special
# only the last token of the vocabulary is taken for special; others (strings) are an error.
# shows: two or more special tokens, or none at all (then an ordinary token is left out).

def decode(ids, vocabulary):
    if any(not 0 <= i < len(vocabulary) for i in ids):
        raise ValueError("an id outside the vocabulary")
    return b"".join(vocabulary[i] for i in ids if i != len(vocabulary) - 1).decode("utf-8", "replace")


# %% wrong: byte order mark
# "utf-8-sig" takes away U+FEFF at the start of the text.
# shows: the ids 239, 187, 191 at the start.

def decode(ids, vocabulary):
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
    return b"".join(t for t in (vocabulary[i] for i in ids) if isinstance(t, bytes)).decode("utf-8-sig", errors="replace")


# %% wrong: eos text removed
# special tokens are written out and then removed from the TEXT: whoever writes "<eos>" as ordinary letters loses them.
# shows: decode(list(b"<eos>")) must be "<eos>".

def decode(ids, vocabulary):
    data = b""
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
        token = vocabulary[i]
        data += token.encode() if isinstance(token, str) else token
    text = data.decode("utf-8", "replace")
    for token in vocabulary:
        if isinstance(token, str):
            text = text.replace(token, "")
    return text


# %% wrong: ignore errors
# broken bytes are dropped, not replaced by U+FFFD.
# shows: [195, 259].

def decode(ids, vocabulary):
    if ids and (min(ids) < 0 or max(ids) >= len(vocabulary)):
        raise ValueError("id")
    return b"".join(vocabulary[i] for i in ids if isinstance(vocabulary[i], bytes)).decode("utf-8", errors="ignore")


# %% wrong: minus two
# only -1 is caught; -2 and below take tokens from the end of the vocabulary.
# shows: the id -2.

def decode(ids, vocabulary):
    parts = []
    for i in ids:
        if i == -1 or i >= len(vocabulary):
            raise ValueError(f"bad id {i}")
        parts.append(vocabulary[i])
    return b"".join(p for p in parts if isinstance(p, bytes)).decode("utf-8", "replace")


# %% wrong: token by token if valid
# decodes as soon as what is waiting is valid; after one broken byte nothing is valid any more until the end, where each byte is replaced by itself.
# shows: [255, 195, 169] must be "\ufffdé"; [226, 130] must be ONE "\ufffd", here two.

def decode(ids, vocabulary):
    text, waiting = "", b""
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
        token = vocabulary[i]
        if isinstance(token, str):
            continue
        waiting += token
        try:
            text += waiting.decode("utf-8")
            waiting = b""
        except UnicodeDecodeError:
            pass
    return text + "".join(bytes([b]).decode("utf-8", "replace") for b in waiting)


# %% wrong: index error
# an id that is too large raises IndexError; only negative ones are tested.
# shows: len(vocabulary).

def decode(ids, vocabulary):
    if any(i < 0 for i in ids):
        raise ValueError("negative id")
    return b"".join(vocabulary[i] for i in ids if type(vocabulary[i]) is bytes).decode("utf-8", "replace")


# %% wrong: largest id outside
# off by one: the last id of the vocabulary raises a ValueError.
# shows: the id len(vocabulary) - 1, special or not.

def decode(ids, vocabulary):
    for i in ids:
        if not 0 <= i < len(vocabulary) - 1:
            raise ValueError(i)
    return b"".join(vocabulary[i] for i in ids if isinstance(vocabulary[i], bytes)).decode("utf-8", "replace")


# %% wrong: newline made plain
# reads the bytes through a text file object, which turns "\r\n" and "\r" into "\n".
# shows: [13, 10].

import io


def decode(ids, vocabulary):
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(i)
    data = b"".join(vocabulary[i] for i in ids if isinstance(vocabulary[i], bytes))
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", errors="replace").read()


# %% wrong: no final flush
# feeds an incremental decoder and never tells it that the text is over, so half a character at the END vanishes; breaks "Bytes that are no UTF-8 become U+FFFD"
# shows: decode([195], vocabulary) is "" in place of "\ufffd"
import codecs


def decode(ids, vocabulary):
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text = ""
    for i in ids:
        if not 0 <= i < len(vocabulary):
            raise ValueError(f"{i} is no id")
        if isinstance(vocabulary[i], bytes):
            text += decoder.decode(vocabulary[i])
    return text


# %% wrong: token by token if broken
# tries the whole text first, but one broken byte anywhere makes it decode token by token, and so breaks the good characters too; breaks "A character may lie in several tokens. Bytes that are no UTF-8 become U+FFFD"
# shows: decode([195, 169, 195, 32], vocabulary) is "\ufffd\ufffd\ufffd " in place of "é\ufffd "
def decode(ids, vocabulary):
    parts = []
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(f"the id {i} is not in the vocabulary")
        if not isinstance(vocabulary[i], str):
            parts.append(vocabulary[i])
    try:
        return b"".join(parts).decode("utf-8")
    except UnicodeDecodeError:
        return "".join(part.decode("utf-8", errors="replace") for part in parts)


# %% wrong: two names of special tokens
# Only the names <eos> and <pad> are taken for special tokens; any other string in the vocabulary is written into the text instead of being left out.
# shows: a vocabulary that ends in "[END]" and "stop"
def decode(ids, vocabulary):
    raw = b""
    for i in ids:
        if i < 0 or i >= len(vocabulary):
            raise ValueError(f"id {i} is outside the vocabulary")
        token = vocabulary[i]
        if token in ("<eos>", "<pad>"):
            continue
        raw += token if isinstance(token, bytes) else token.encode("utf-8")
    return raw.decode("utf-8", errors="replace")


# %% wrong: ids behind a special token are not checked
# Ids are checked only until the first special token has come, and -1 after that is read as the last token.
# shows: a special token, and -1 after it
def decode(ids, vocabulary):
    raw, checking = b"", True
    for i in ids:
        if checking and not 0 <= i < len(vocabulary):
            raise ValueError(f"unknown id {i}")
        token = vocabulary[i]
        if isinstance(token, str):
            checking = False
            continue
        raw += token
    return raw.decode("utf-8", errors="replace")

r"""Exchange n-gram models with other programs as ARPA text, the format of KenLM and SRILM.

A line of an ARPA file has the log10 probability of an n-gram, its words, and, if it can be a
history, the log10 factor by which tokens never seen after it are scaled. The format tells `<s>`
from `</s>`; here both are one eos id, which is `<s>` as a history and `</s>` as a target.
Chapter: n-gram models. Format: SRILM's manual page ngram-format(5).
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from course_pkg.common.files import path_of, replacing
from course_pkg.models.ngram.counts import UNSEEN, IntArray, NGramIndex
from course_pkg.models.ngram.model import FloatArray, NGram

START, END = "<s>", "</s>"

LOG10 = math.log(10)

NEVER = -99.0
"""What stands for the logarithm of zero, by custom."""

Line = tuple[int, float, list[str], float]
"""Line number, log10 probability, words, log10 back-off factor."""


def write_arpa(model: NGram, path: str | Path, tokens: Sequence[str]) -> None:
    """Write a model that backs off to shorter histories as ARPA text.

    The file appears under its name only when complete.

    Args:
        tokens: the text of each id. That of eos is not written, `<s>` and `</s>` are.

    Raises:
        ValueError: if the model does not back off (MLE, AddK), or tokens do not fit: their number
            is not V, two are equal, or one is empty, has a space in it, or is `<s>` or `</s>`.
    """
    if not model.backs_off:
        raise ValueError(
            f"the model's smoothing is {model.smoothing['method']}; "
            "ARPA holds only models that back off to a shorter history"
        )
    _check_tokens(tokens, model)
    with replacing(path) as scratch, scratch.open("w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in _lines(model, tokens))


def read_arpa(
    path: str | Path, tokens: Sequence[str] | None = None, *, eos_token: str = "<eos>"
) -> tuple[NGram, list[str]]:
    """Read an n-gram model from ARPA text.

    Args:
        tokens: the text of each id, to agree with a tokenizer: the file's words without `<s>` and
            `</s>`, and eos_token. If not given, eos is id 0 and the words follow in file order.
        eos_token: how tokens calls what the file calls `<s>` and `</s>`.

    Returns:
        The model and the text of each of its ids.

    Raises:
        ValueError: what is wrong with the file, or how tokens differs from it.
    """
    sections = _read_sections(path_of(path))
    words = [words[0] for _, _, words, _ in sections[0] if words[0] not in (START, END)]
    if len(words) != len(sections[0]) - 2:
        raise ValueError(f"{path} must list {START} and {END} once each among its 1-grams")
    texts = [eos_token, *words] if tokens is None else list(tokens)
    if sorted(texts) != sorted([eos_token, *words]):
        different = sorted(set(texts) ^ {eos_token, *words})[:3]
        raise ValueError(f"tokens and the words of {path} differ, for example in {different}")
    ids = {text: number for number, text in enumerate(texts)}
    if len(ids) != len(texts):
        raise ValueError(f"{path} lists a 1-gram twice, or {eos_token!r}, which stands for eos")
    ids[START] = ids[END] = ids[eos_token]

    index = NGramIndex((np.arange(len(texts)),), len(texts))
    log_probs, log_backoffs = _unigrams(sections[0], ids)
    all_log_probs, all_log_backoffs = [log_probs], [log_backoffs]
    for section in sections[1:]:
        keys, log_probs, log_backoffs = _longer_ngrams(section, ids, index)
        index = NGramIndex((*index.keys, keys), len(texts))
        all_log_probs.append(log_probs)
        all_log_backoffs.append(log_backoffs)
    model = NGram(
        index=index,
        log_probs=all_log_probs,
        log_backoffs=all_log_backoffs[:-1],
        eos_id=ids[START],
        backs_off=True,
        log_base=-math.log(len(texts)),
        smoothing={"method": "ARPA"},
        n_ngrams=tuple(len(keys) for keys in index.keys),
    )
    return model, texts


def _check_tokens(tokens: Sequence[str], model: NGram) -> None:
    if len(tokens) != model.vocab_size:
        raise ValueError(f"tokens has {len(tokens)} entries; the model knows {model.vocab_size}")
    seen: set[str] = {START, END}
    for number, token in enumerate(tokens):
        if number == model.eos_id:
            continue
        if token.split() != [token]:
            raise ValueError(f"token {number} is {token!r}; ARPA separates words by white space")
        if token in seen:
            raise ValueError(f"token {number} is {token!r}, which is taken")
        seen.add(token)


def _lines(model: NGram, tokens: Sequence[str]) -> Iterator[str]:
    yield "\\data\\"
    for order, keys in enumerate(model.index.keys, start=1):
        # One eos here is two words there.
        yield f"ngram {order}={len(keys) + (order == 1)}"
    as_history, as_target = list(tokens), list(tokens)
    as_history[model.eos_id], as_target[model.eos_id] = START, END
    texts = as_history
    for order, keys in enumerate(model.index.keys, start=1):
        yield f"\n\\{order}-grams:"
        log_probs = _to_log10(model.log_probs[order - 1])
        tails = [""] * len(keys)
        if order < model.order:
            tails = [f"\t{x:.12g}" for x in _to_log10(model.log_backoffs[order - 1])]
        if order == 1:
            yield f"{NEVER:g}\t{START}{tails[model.eos_id]}"
            tails[model.eos_id] = ""
            written = as_target
        else:
            histories, targets = np.divmod(keys, model.vocab_size)
            pairs = zip(histories.tolist(), targets.tolist(), strict=True)
            written = texts = [f"{texts[history]} {as_target[target]}" for history, target in pairs]
        for log_prob, text, tail in zip(log_probs, written, tails, strict=True):
            yield f"{log_prob:.12g}\t{text}{tail}"
    yield "\n\\end\\"


def _to_log10(logs: FloatArray) -> list[float]:
    return np.maximum(logs / LOG10, NEVER).tolist()


def _from_log10(logs: Sequence[float]) -> FloatArray:
    array = np.array(logs, np.float64)
    return np.where(array <= NEVER, -np.inf, array * LOG10)


def _read_sections(path: Path) -> list[list[Line]]:
    """Return the lines of each order, all well-formed and as many as the header announces."""
    announced: dict[int, int] = {}
    sections: list[list[Line]] = []
    state = "preamble"
    with path.open(encoding="utf-8") as file:
        for number, raw in enumerate(file, start=1):
            line = raw.strip()
            if line == "\\data\\":
                state = "header"
            elif line == "\\end\\":
                state = "end"
                break
            elif not line or state == "preamble":
                continue
            elif line.startswith("\\") and line.endswith("-grams:"):
                sections.append([])
                if line != f"\\{len(sections)}-grams:":
                    raise ValueError(f"line {number} is {line!r}; order {len(sections)} is due")
                state = "n-grams"
            elif state == "header":
                order, _, count = line.removeprefix("ngram ").partition("=")
                announced[int(order)] = int(count)
            else:
                sections[-1].append(_parse(number, line, len(sections)))
    found = {order: len(section) for order, section in enumerate(sections, start=1)}
    if state != "end" or not sections or found != announced:
        raise ValueError(
            f"{path} is not a complete ARPA file: it announces {announced} n-grams by order "
            f"and has {found}" + ("" if state == "end" else ", without \\end\\")
        )
    return sections


def _parse(number: int, line: str, order: int) -> Line:
    log_prob, *rest = line.split()
    words, tail = rest[:order], rest[order:]
    if len(words) < order or len(tail) > 1 or not float(log_prob) <= 0:
        raise ValueError(
            f"line {number} is {line!r}; it must be a log10 probability, {order} words "
            "and perhaps a back-off factor"
        )
    if START in words[1:] or END in words[: order - 1]:
        raise ValueError(f"line {number} is {line!r}; {START} comes first and {END} last only")
    return number, float(log_prob), words, float(tail[0]) if tail else 0.0


def _unigrams(section: list[Line], ids: dict[str, int]) -> tuple[FloatArray, FloatArray]:
    vocab_size = len(section) - 1
    log_probs, log_backoffs = np.empty(vocab_size), np.zeros(vocab_size)
    for _, log_prob, (word,), log_backoff in section:
        if word != START:
            log_probs[ids[word]] = log_prob
        if word != END:
            log_backoffs[ids[word]] = log_backoff
    return _from_log10(log_probs.tolist()), _from_log10(log_backoffs.tolist())


def _longer_ngrams(
    section: list[Line], ids: dict[str, int], index: NGramIndex
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return keys, log-probabilities and back-offs in the order of their keys."""
    try:
        grams = np.array([[ids[word] for word in words] for _, _, words, _ in section], np.int64)
    except KeyError as error:
        raise ValueError(f"the word {error} is in no 1-gram") from None
    grams = grams.reshape(len(section), index.order + 1)
    histories = index.find(grams[:, :-1])[-1][:, -1]
    if (histories == UNSEEN).any():
        number, _, words, _ = section[int(np.argmax(histories == UNSEEN))]
        raise ValueError(f"line {number}: {' '.join(words[:-1])!r} must be listed, as a history")
    keys, places = np.unique(histories * index.vocab_size + grams[:, -1], return_index=True)
    if len(keys) != len(section):
        raise ValueError(f"the file lists a {index.order + 1}-gram twice")
    log_probs = _from_log10([log_prob for _, log_prob, _, _ in section])
    log_backoffs = _from_log10([log_backoff for _, _, _, log_backoff in section])
    return keys, log_probs[places], log_backoffs[places]

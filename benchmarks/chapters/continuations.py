"""What a model makes of the beginning of a story, and a rule by which its sentences are judged.

The rule cannot tell whether a story makes sense. It finds what small models get wrong in a way that
can be counted: a sentence that does not end or ends inside a quotation, one that goes round in
circles, and a person who was somebody else a sentence ago. Held-out stories are judged by the same
rule, since no rule of this kind finds every human sentence well formed.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from course_pkg.decoding.generation import generate

PROMPT = "Once upon a time"
N_TEXTS, N_TOKENS, N_SENTENCES = 60, 100, 3
TEMPERATURE, TOP_K = 0.8, 50

_INTRODUCED = re.compile(r"\b(named|called|names?)\b")


def continuations(
    model: Any, tokenizer: Any, prompt: str = PROMPT, n_texts: int = N_TEXTS, seed: int = 0
) -> list[str]:
    """Return texts that go on from a prompt for at most three sentences, in the order drawn.

    Temperature 0.8, of the 50 likeliest tokens. A last sentence that the limit of 100 tokens cut
    short is left out, unless a quotation stands open in it.
    """
    first = [tokenizer.eos_id, *tokenizer.encode(prompt)]
    drawn = generate(
        model,
        torch.tensor([first] * n_texts),
        N_TOKENS,
        temperature=TEMPERATURE,
        top_k=TOP_K,
        generator=torch.Generator().manual_seed(seed),
        stop_id=tokenizer.eos_id,
    )
    texts = []
    for row in drawn[:, 1:].tolist():
        has_ended = tokenizer.eos_id in row
        ids = row[: row.index(tokenizer.eos_id)] if has_ended else row
        text = tokenizer.decode([i for i in ids if i < tokenizer.vocab_size])
        sentences = split_sentences(text)
        last = sentences[-1]
        if not has_ended and not _is_ended(last) and last.count('"') % 2 == 0:
            sentences = sentences[:-1]
        texts.append(" ".join(sentences[:N_SENTENCES]))
    return texts


def split_sentences(text: str) -> list[str]:
    """Split at a line's end, and at ., ! or ? outside of quotations or at the end of one.

    Example:
        >>> split_sentences('He said, "Stop. Now!" and ran. "Why?" Ann wept.')
        ['He said, "Stop. Now!" and ran.', '"Why?"', 'Ann wept.']
    """
    sentences, start, is_quoted = [], 0, False
    for place, symbol in enumerate(text):
        is_quoted ^= symbol == '"'
        rest = text[place + 1 :]
        is_end = symbol == "\n" or (
            not is_quoted
            and (symbol in ".!?" or (symbol == '"' and text[place - 1 : place] in (*".!?",)))
            and re.match(r"\s+[^a-z\s]|\s*$", rest) is not None
        )
        if is_end:
            sentences.append(text[start : place + 1].strip())
            start, is_quoted = place + 1, False
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_ended(sentence: str) -> bool:
    return re.search(r"[.!?]\"?$", sentence) is not None


def lower_case_words(texts: Sequence[str]) -> set[str]:
    """Return the words that one time in twenty or more stand in lower case: no names, that is."""
    counts = Counter(word for text in texts for word in re.findall(r"\b[A-Za-z][a-z]*\b", text))
    return {w for w, n in counts.items() if w.islower() and 20 * n >= counts[w.capitalize()]}


def faults(sentence: str, before: Sequence[str], words: set[str]) -> list[str]:
    """Return what is wrong with a sentence, given those before it; none if it is well formed.

    A name is a capitalized word that is not among `words` in lower case.

    "no end": it ends with neither ., ! nor ?. "open quotation": a mark without its partner. "loop":
    three words that occur twice in it, or the very sentence again. "new name": a name that nobody
    introduced ("named", "called"), in a story that has names and in a sentence without any of them.
    """
    said = re.findall(r"[\w']+", sentence.lower())
    triples = list(zip(said, said[1:], said[2:], strict=False))
    found = []
    if not _is_ended(sentence):
        found.append("no end")
    if sentence.count('"') % 2:
        found.append("open quotation")
    if len(set(triples)) < len(triples) or sentence in before:
        found.append("loop")
    known = {name for earlier in before for name in _names(earlier, words)}
    new = _names(sentence, words) - known
    is_linked = any(name in re.findall(r"\w+", sentence) for name in known)
    if known and new and not is_linked and not _INTRODUCED.search(sentence):
        found.append("new name")
    return found


def _names(sentence: str, words: set[str]) -> set[str]:
    return {w for w in re.findall(r"\b[A-Z][a-z]+\b(?!')", sentence) if w.lower() not in words}


def judged(texts: Sequence[str], words: set[str]) -> dict[str, Any]:
    """Return how many sentences texts have, the percentage well formed, and faults by kind."""
    kinds: dict[str, int] = {}
    n, n_good = 0, 0
    for text in texts:
        sentences = split_sentences(text)[:N_SENTENCES]
        for place, sentence in enumerate(sentences):
            wrong = faults(sentence, sentences[:place], words)
            n, n_good = n + 1, n_good + (not wrong)
            for kind in wrong:
                kinds[kind] = kinds.get(kind, 0) + 1
    return {"n_sentences": n, "percent_well_formed": 100 * n_good / max(n, 1), "faults": kinds}

"""Parallel text with gold alignments: English and an invented language, Velu.

One derivation writes both sides at once, so it knows which words belong together. Velu puts its
verb last and adjectives after their nouns, marks case by endings, makes adjectives agree with the
noun's gender, has no articles, drops pronouns (the verb's ending says who acts) and has two words
for English "bat". Each English sentence has exactly one translation.
Chapter: sequence to sequence and attention. Synchronous grammars: Aho & Ullman 1969.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from course_pkg.common.checks import whole_numbers
from course_pkg.text.stories.sampling import pick, seeded

# English noun: (Velu stem, gender). Gender is what adjectives agree with.
LIVING = {
    "dog": ("kel", "o"),
    "cat": ("mir", "a"),
    "bird": ("tiv", "a"),
    "child": ("pun", "o"),
    "teacher": ("lor", "a"),
    "farmer": ("gad", "o"),
    "fox": ("sun", "o"),
    "girl": ("nal", "a"),
    "boy": ("tad", "o"),
    "bat": ("zif", "a"),
}
THINGS = {
    "ball": ("bom", "o"),
    "book": ("sel", "a"),
    "lamp": ("nur", "o"),
    "drum": ("dar", "o"),
    "cup": ("jal", "a"),
    "ring": ("ost", "o"),
    "bat": ("tok", "o"),
}
PLACES = {
    "garden": ("vil", "a"),
    "forest": ("hes", "o"),
    "market": ("rin", "a"),
    "school": ("dom", "o"),
}
ADJECTIVES = {"big": "gran", "small": "pit", "red": "rus", "old": "vek", "happy": "fel"}
# What a verb may be done to tells the two bats apart.
VERBS_FOR_LIVING = {"feeds": "nam", "calls": "vok", "greets": "sal", "follows": "sek"}
VERBS_FOR_THINGS = {"carries": "por", "breaks": "rup", "buys": "kup", "paints": "pik"}
PRONOUNS = {"He": "o", "She": "a"}

_OBJECT_CASE, _PLACE_CASE = "n", "s"
_FULL_SUBJECT = "e"  # verb ending where the subject is said


@dataclass(frozen=True)
class Translation:
    """A sentence in both languages.

    Attributes:
        source: English words.
        target: words of Velu.
        links: (source position, target position) of words that translate one another; an article
            has none, a dropped pronoun is linked to the verb that stands for it.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class _Phrase:
    """Words of both sides, with links counted from each side's beginning."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    links: frozenset[tuple[int, int]]


def sample_translations(n: int, *, seed: int) -> list[Translation]:
    """Draw sentences with their translations, the same for a seed on every version of Python.

    Raises:
        ValueError: a negative `n`.
    """
    whole_numbers(at_least=0, n=n)
    rng = seeded(seed)
    return [_sentence(rng) for _ in range(n)]


def join_translations(sentences: Sequence[Translation]) -> Translation:
    """Make one passage of several sentences: both sides in the same order, links shifted along.

    Example:
        >>> one = Translation(("He",), ("o",), frozenset({(0, 0)}))
        >>> sorted(join_translations([one, one]).links)
        [(0, 0), (1, 1)]

    Raises:
        ValueError: there is no sentence.
    """
    if not sentences:
        raise ValueError("sentences is empty; a passage has at least one")
    source: list[str] = []
    target: list[str] = []
    links: set[tuple[int, int]] = set()
    for sentence in sentences:
        links |= {(len(source) + i, len(target) + j) for i, j in sentence.links}
        source += sentence.source
        target += sentence.target
    return Translation(tuple(source), tuple(target), frozenset(links))


def sample_passages(n: int, *, longest: int, seed: int) -> list[Translation]:
    """Draw passages of 1 to `longest` sentences, each number equally often on average.

    Raises:
        ValueError: a negative `n`, or `longest` below 1.
    """
    whole_numbers(at_least=0, n=n)
    if longest < 1:
        raise ValueError(f"longest is {longest}; it must be at least 1")
    rng = seeded(seed)
    return [
        join_translations([_sentence(rng) for _ in range(rng.randint(1, longest))])
        for _ in range(n)
    ]


def _sentence(rng: random.Random) -> Translation:
    is_living = rng.random() < 0.5
    verbs = VERBS_FOR_LIVING if is_living else VERBS_FOR_THINGS
    english, stem = pick(tuple(verbs.items()), rng)
    subject, ending = _subject(rng)
    verb = _Phrase((english,), (stem + ending,), frozenset({(0, 0)}))
    nouns = LIVING if is_living else THINGS
    done_to = _noun_phrase(pick(("a", "the"), rng), nouns, _OBJECT_CASE, rng)
    spoken, written = [subject, verb, done_to], [subject, done_to, verb]
    if rng.random() < 0.4:  # "in the garden" comes last in English, after the subject in Velu
        place = _noun_phrase("the", PLACES, _PLACE_CASE, rng, before=("in",))
        spoken.append(place)
        written.insert(1, place)
    return _join(spoken, written, pronoun_to=verb if not subject.target else None)


def _subject(rng: random.Random) -> tuple[_Phrase, str]:
    """Draw who acts, and the ending that this gives the verb."""
    if rng.random() < 0.3:
        pronoun, ending = pick(tuple(PRONOUNS.items()), rng)
        return _Phrase((pronoun,), (), frozenset()), ending
    doers = {noun: velu for noun, velu in LIVING.items() if noun != "bat"}
    return _noun_phrase("The", doers, "", rng), _FULL_SUBJECT


def _noun_phrase(
    article: str,
    nouns: dict[str, tuple[str, str]],
    case: str,
    rng: random.Random,
    before: tuple[str, ...] = (),
) -> _Phrase:
    """Draw [before] article [adjective] noun, and noun [adjective] with gender and case.

    A preposition is translated by the case ending, so it is linked to the noun.
    """
    noun, (stem, gender) = pick(tuple(nouns.items()), rng)
    source, target = [*before, article], [stem + gender + case]
    links = {(i, 0) for i in range(len(before))}
    if rng.random() < 0.5:
        adjective, velu = pick(tuple(ADJECTIVES.items()), rng)
        links.add((len(source), 1))
        source.append(adjective)
        target.append(velu + gender + case)
    links.add((len(source), 0))
    return _Phrase((*source, noun), tuple(target), frozenset(links))


def _join(
    spoken: Sequence[_Phrase], written: Sequence[_Phrase], *, pronoun_to: _Phrase | None
) -> Translation:
    """Put the same phrases in each language's order and shift their links along."""
    source_start, target_start = _starts(spoken, "source"), _starts(written, "target")
    links = {
        (source_start[id(phrase)] + i, target_start[id(phrase)] + j)
        for phrase in spoken
        for i, j in phrase.links
    }
    if pronoun_to is not None:
        links.add((0, target_start[id(pronoun_to)]))
    source = tuple(word for phrase in spoken for word in phrase.source)
    target = tuple(word for phrase in written for word in phrase.target)
    return Translation(
        (*source, "."), (*target, "."), frozenset({*links, (len(source), len(target))})
    )


def _starts(phrases: Sequence[_Phrase], side: str) -> dict[int, int]:
    starts, position = {}, 0
    for phrase in phrases:
        starts[id(phrase)] = position
        position += len(getattr(phrase, side))
    return starts

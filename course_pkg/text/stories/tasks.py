"""Tasks with labels whose best possible accuracy is known: sentiment and inference.

Reviews carry a hidden label. Their last clause decides it, "but" turns the first clause round, and
"not" turns a word round; so order matters, and what a bag of words can reach is lower and can be
computed. Inference pairs are drawn hypothesis first, then the label, then a premise that makes it
true: the hypothesis alone says nothing about the label.
Chapter: fine-tuning.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from course_pkg.common.checks import whole_numbers
from course_pkg.text.stories.lexicon import BOYS, GIRLS, LEXICON, PLURAL
from course_pkg.text.stories.sampling import pick, pick_weighted, seeded

GOOD = ("good", "funny", "clever", "warm")
BAD = ("bad", "boring", "silly", "cold")
_PARTS = ("story", "song", "ending")

LABELS = ("entailment", "neutral", "contradiction")

_HYPERNYMS = {
    "toy": ("ball", "kite", "doll", "train"),
    "instrument": ("drum", "flute"),
    "animal": tuple(PLURAL),
}
_THINGS = tuple(thing for kind in _HYPERNYMS.values() for thing in kind)
_HEROES = GIRLS + BOYS
_STATES = ("hungry", "sleepy", "wet", "dirty")  # none says anything about another
_ANIMALS = tuple(PLURAL.values())


@dataclass(frozen=True)
class Review:
    """A short review; the label is 1 if its writer liked the thing, else 0."""

    text: str
    label: int


@dataclass(frozen=True)
class Inference:
    """A premise, a hypothesis, and which of `LABELS` joins them."""

    premise: str
    hypothesis: str
    label: str


class Reviews:
    """The source of reviews.

    Args:
        noise: probability that a label contradicts what its review says.
        contrast: probability that the clauses are joined by "but" and disagree.
        negation: probability that a clause says its meaning by "not" and the opposite word.

    Raises:
        ValueError: a setting that is no probability.
    """

    def __init__(self, *, noise: float = 0.1, contrast: float = 0.5, negation: float = 0.3) -> None:
        for name, p in (("noise", noise), ("contrast", contrast), ("negation", negation)):
            if not 0 <= p <= 1:
                raise ValueError(f"{name} is {p}; it is a probability")
        self.noise, self.contrast, self.negation = noise, contrast, negation

    def outcomes(self) -> Iterator[tuple[float, Review]]:
        """Yield every review with its probability; the probabilities sum to one."""
        flips = ((0, 1 - self.noise), (1, self.noise))
        joints = (("and", 1 - self.contrast), ("but", self.contrast))
        for meaning, (flip, p), (joint, q) in product((0, 1), flips, joints):
            first = meaning if joint == "and" else 1 - meaning
            for (r, one), (s, two) in product(self._clauses(first), self._clauses(meaning)):
                for a, b in product(_PARTS, _PARTS):
                    if a != b:
                        text = f"The {a} was {one} {joint} the {b} was {two}."
                        probability = p * q * r * s / 2 / (len(_PARTS) * (len(_PARTS) - 1))
                        yield probability, Review(text, meaning ^ flip)

    def _clauses(self, meaning: int) -> list[tuple[float, str]]:
        plain, turned = (GOOD, BAD) if meaning else (BAD, GOOD)
        return [((1 - self.negation) / len(plain), word) for word in plain] + [
            (self.negation / len(turned), f"not {word}") for word in turned
        ]

    def sample(self, n: int, *, seed: int) -> list[Review]:
        """Draw reviews; the same seed gives the same reviews on every version of Python.

        Raises:
            ValueError: a negative `n`.
        """
        whole_numbers(at_least=0, n=n)
        rng = seeded(seed)
        return [self._write(rng) for _ in range(n)]

    def _write(self, rng: random.Random) -> Review:
        meaning = int(rng.random() < 0.5)
        joint = "but" if rng.random() < self.contrast else "and"
        first = meaning if joint == "and" else 1 - meaning
        one, two = (
            pick_weighted([(w, p) for p, w in self._clauses(m)], rng) for m in (first, meaning)
        )
        a = pick(_PARTS, rng)
        b = pick([part for part in _PARTS if part != a], rng)
        label = meaning ^ (rng.random() < self.noise)
        return Review(f"The {a} was {one} {joint} the {b} was {two}.", label)

    def bayes_accuracy(self, view: Callable[[str], Hashable] = str) -> float:
        """Return the exact accuracy of the best classifier that sees only `view(text)`.

        Args:
            view: what it sees: the whole text by default; `bag_of_words` for its words without
                order; `len` for nothing but the length.
        """
        weight: defaultdict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for p, review in self.outcomes():
            weight[view(review.text)][review.label] += p
        return sum(max(pair) for pair in weight.values())


def bag_of_words(text: str) -> frozenset[tuple[str, int]]:
    """Return a text's words and how often each occurs, without order."""
    return frozenset(Counter(text.replace(".", "").lower().split()).items())


Fact = tuple[str, ...]
"""("has", hero, thing), ("nothing", hero), ("no", hero, kind), ("at", hero, place) or
(quantifier, animals, state); a thing may be a kind of things in a hypothesis."""


def say(fact: Fact) -> str:
    """Put a fact into words."""
    match fact:
        case ("has", hero, thing):
            return f"{hero} has {'an' if thing[0] in 'aeiou' else 'a'} {thing}."
        case ("nothing", hero):
            return f"{hero} has nothing."
        case ("no", hero, kind):
            return f"{hero} has no {kind}."
        case ("at", hero, place):
            return f"{hero} is at the {place}."
        case (quantifier, animals, state):
            return f"{quantifier} {animals} are {state}."
    raise ValueError(f"fact is {fact}; there is no sentence for it")


def decide(premise: Sequence[Fact], hypothesis: Fact) -> str:
    """Say whether the premise's facts make the hypothesis certain, impossible, or neither.

    A hero may have several things and is at one place; there is at least one animal of each kind.

    Raises:
        ValueError: the facts both prove and refute the hypothesis.
    """
    verdicts = {_decide(fact, hypothesis) for fact in premise} - {"neutral"}
    if len(verdicts) > 1:
        raise ValueError(f"premise {list(premise)} contradicts itself about {hypothesis}")
    return verdicts.pop() if verdicts else "neutral"


def _decide(fact: Fact, hypothesis: Fact) -> str:
    if fact == hypothesis:
        return "entailment"
    if fact[1] != hypothesis[1]:
        return "neutral"
    match (fact, hypothesis):
        case (("has", _, thing), ("has", _, kind)) if thing in _HYPERNYMS.get(kind, ()):
            return "entailment"
        case (("nothing", _), ("has", *_)) | (("has", *_), ("nothing", _)):
            return "contradiction"
        case (("nothing", _), ("no", *_)):
            return "entailment"
        case (("no", _, kind), ("has", _, thing)) | (("has", _, thing), ("no", _, kind)):
            is_one = thing == kind or thing in _HYPERNYMS.get(kind, ())
            return "contradiction" if is_one else "neutral"
        case (("at", *_), ("at", *_)):
            return "contradiction"  # equal facts were entailed above
        case ((one, _, state), (other, _, same)) if state == same and one[0].isupper():
            weaker = {("All", "Some"): "entailment", ("Some", "All"): "neutral"}
            return weaker.get((one, other), "contradiction")
    return "neutral"


class Inferences:
    """The source of inference pairs: balanced so that a hypothesis says nothing about its label.

    For every hypothesis each label is equally likely, so a classifier that reads only hypotheses
    is right one time in three, exactly.
    """

    def sample(self, n: int, *, seed: int) -> list[Inference]:
        """Draw pairs; the same seed gives the same pairs on every version of Python.

        Raises:
            ValueError: a negative `n`.
        """
        whole_numbers(at_least=0, n=n)
        rng = seeded(seed)
        return [self._pair(rng) for _ in range(n)]

    def _pair(self, rng: random.Random) -> Inference:
        hypothesis = self._hypothesis(rng)
        label = pick(LABELS, rng)
        decisive = self._premise(hypothesis, label, rng)
        premise = [decisive, self._aside(hypothesis, decisive, rng)]
        if rng.random() < 0.5:  # the fact that decides may stand first or second
            premise.reverse()
        return Inference(" ".join(map(say, premise)), say(hypothesis), label)

    def _hypothesis(self, rng: random.Random) -> Fact:
        hero, kind = pick(_HEROES, rng), pick(tuple(_HYPERNYMS), rng)
        return pick(
            (
                ("has", hero, pick(_THINGS, rng)),
                ("has", hero, kind),
                ("nothing", hero),
                ("no", hero, kind),
                ("at", hero, pick(LEXICON["place"], rng)),
                (pick(("All", "Some", "No"), rng), pick(_ANIMALS, rng), pick(_STATES, rng)),
            ),
            rng,
        )

    def _premise(self, hypothesis: Fact, label: str, rng: random.Random) -> Fact:
        """Draw, from all facts about the same hero or animals, one that gives the label."""
        subject = hypothesis[1]
        if hypothesis[0] in ("All", "Some", "No"):
            facts: list[Fact] = [(q, subject, s) for q in ("All", "Some", "No") for s in _STATES]
        else:
            facts = [("has", subject, thing) for thing in _THINGS]
            facts += [("no", subject, kind) for kind in _HYPERNYMS]
            facts += [("at", subject, place) for place in LEXICON["place"]]
            facts.append(("nothing", subject))
        fitting = [fact for fact in facts if _decide(fact, hypothesis) == label]
        kinds = tuple(dict.fromkeys(fact[0] for fact in fitting))
        kind = pick(kinds, rng)  # by kind first, or the many things would drown the rest
        return pick([fact for fact in fitting if fact[0] == kind], rng)

    def _aside(self, hypothesis: Fact, decisive: Fact, rng: random.Random) -> Fact:
        """Draw a fact about someone else, often in the same words as the decisive one."""
        others = [hero for hero in _HEROES if hero != hypothesis[1]]
        if decisive[0] in ("All", "Some", "No"):
            animals = [kind for kind in _ANIMALS if kind != hypothesis[1]]
            return pick(("All", "Some", "No"), rng), pick(animals, rng), decisive[2]
        if rng.random() < 0.5:
            return "has", pick(others, rng), pick(_THINGS, rng)
        return "at", pick(others, rng), pick(LEXICON["place"], rng)

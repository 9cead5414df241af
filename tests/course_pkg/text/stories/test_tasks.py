"""Labelled tasks: what the best classifier reaches, and that no shortcut reaches it."""

import hashlib
import math
import random
from collections import Counter, defaultdict
from itertools import product

import pytest

from course_pkg.text.stories import tasks
from course_pkg.text.stories.tasks import (
    LABELS,
    Fact,
    Inferences,
    Reviews,
    bag_of_words,
    decide,
    say,
)

PINNED = "d0be175e3b4ca8c400be5c41a1f5b96ca543c6b909558edfc25128d1cca7209a"
REVIEWS = Reviews().sample(6000, seed=4)
PAIRS = Inferences().sample(6000, seed=4)


def majority_accuracy(keys: list, labels: list) -> float:
    """Accuracy on the second half of the rule "most frequent label of this key in the first"."""
    half = len(keys) // 2
    seen: dict = defaultdict(Counter)
    for key, label in zip(keys[:half], labels[:half], strict=True):
        seen[key][label] += 1
    default = Counter(labels[:half]).most_common(1)[0][0]
    guesses = [seen[key].most_common(1)[0][0] if key in seen else default for key in keys[half:]]
    return sum(g == label for g, label in zip(guesses, labels[half:], strict=True)) / half


def three_errors(p: float, n: int) -> float:
    return 3 * math.sqrt(p * (1 - p) / n)


def polarity(text: str) -> int:
    """Read the last clause: the rule that a sequence model has to find."""
    *_, negation, word = text.rstrip(".").split()
    return int((word in tasks.GOOD) != (negation == "not"))


def test_outcomes_sum_to_one():
    assert sum(p for p, _ in Reviews().outcomes()) == pytest.approx(1, abs=1e-12)


def test_bayes_accuracy_matches_hand_worked_cases():
    # the text fixes its meaning, so the best reader errs only where the label is noise
    assert Reviews().bayes_accuracy() == pytest.approx(0.9, abs=1e-12)
    assert Reviews(noise=0.5).bayes_accuracy() == pytest.approx(0.5, abs=1e-12)
    plain = Reviews(noise=0.2, contrast=0.0, negation=0.0)
    assert plain.bayes_accuracy(bag_of_words) == pytest.approx(0.8, abs=1e-12)
    always_but = Reviews(noise=0.0, contrast=1.0, negation=0.0)
    # one good and one bad word in every review: a bag cannot tell which came last
    assert always_but.bayes_accuracy(bag_of_words) == pytest.approx(0.5, abs=1e-12)


def test_order_is_worth_what_the_source_says():
    labels = [review.label for review in REVIEWS]
    hits = sum(polarity(r.text) == r.label for r in REVIEWS) / len(REVIEWS)
    assert abs(hits - 0.9) < three_errors(0.9, len(REVIEWS))
    best = Reviews().bayes_accuracy(bag_of_words)
    assert 0.5 < best < 0.75
    by_bag = majority_accuracy([bag_of_words(r.text) for r in REVIEWS], labels)
    assert by_bag < best + three_errors(best, len(REVIEWS) // 2)


def test_length_is_nearly_no_shortcut_to_sentiment():
    labels = [review.label for review in REVIEWS]
    best = Reviews().bayes_accuracy(len)
    assert best < 0.53  # good words and bad words differ in letters, no more
    found = majority_accuracy([len(r.text) for r in REVIEWS], labels)
    assert found < best + three_errors(best, len(REVIEWS) // 2)
    n_words = majority_accuracy([len(r.text.split()) for r in REVIEWS], labels)
    assert abs(n_words - 0.5) < three_errors(0.5, len(REVIEWS) // 2)


def test_samples_follow_the_outcomes():
    expected: Counter = Counter()
    for p, review in Reviews().outcomes():
        expected["but" in review.text, "not" in review.text, review.label] += p
    found = Counter(("but" in r.text, "not" in r.text, r.label) for r in REVIEWS)
    for key, p in expected.items():
        assert abs(found[key] / len(REVIEWS) - p) < three_errors(p, len(REVIEWS))


def holds(fact: Fact, world: tuple) -> bool:
    """Truth in a small world: what the hero has, where the hero is, which animals are wet."""
    things, place, wet = world
    match fact:
        case ("has", _, thing):
            return any(t == thing or t in tasks._HYPERNYMS.get(thing, ()) for t in things)
        case ("no", _, kind):
            return not any(t in tasks._HYPERNYMS[kind] for t in things)
        case ("nothing", _):
            return not things
        case ("at", _, there):
            return place == there
        case ("All", *_):
            return all(wet)
        case ("Some", *_):
            return any(wet)
        case ("No", *_):
            return not any(wet)
    raise AssertionError(fact)


def test_decisions_match_truth_in_all_small_worlds():
    things = ("ball", "kite", "drum", "flute")
    subsets = [
        tuple(t for t, b in zip(things, bits, strict=True) if b)
        for bits in product((0, 1), repeat=4)
    ]
    worlds = list(product(subsets, ("park", "zoo", "farm"), product((0, 1), repeat=2)))
    facts: list[Fact] = [("has", "Mia", t) for t in (*things, "toy", "instrument")]
    facts += [("no", "Mia", kind) for kind in ("toy", "instrument")]
    facts += [("nothing", "Mia"), ("at", "Mia", "park"), ("at", "Mia", "zoo")]
    facts += [(q, "dogs", "wet") for q in ("All", "Some", "No")]
    for premise, hypothesis in product(facts, facts):
        if premise[0] == "has" and premise[2] in tasks._HYPERNYMS:
            continue  # premises name things, hypotheses may name kinds
        truths = {holds(hypothesis, world) for world in worlds if holds(premise, world)}
        expected = (
            "neutral" if len(truths) == 2 else "entailment" if truths == {True} else "contradiction"
        )
        assert decide([premise], hypothesis) == expected, (premise, hypothesis)


def test_decision_rejects_a_premise_that_contradicts_itself():
    with pytest.raises(ValueError, match="contradicts itself"):
        decide([("has", "Mia", "ball"), ("nothing", "Mia")], ("has", "Mia", "toy"))
    with pytest.raises(ValueError, match="no sentence"):
        say(("sings",))


def test_hypothesis_alone_is_at_chance():
    labels = [pair.label for pair in PAIRS]
    chance = three_errors(1 / 3, len(PAIRS) // 2)
    assert set(labels) == set(LABELS)
    templates = [" ".join(w for w in p.hypothesis.split() if w[0].islower()) for p in PAIRS]
    for keys in (
        [p.hypothesis for p in PAIRS],
        templates,
        [len(p.hypothesis) for p in PAIRS],
        [p.premise.index(" ") for p in PAIRS],
    ):
        assert abs(majority_accuracy(keys, labels) - 1 / 3) < chance


def test_every_hypothesis_can_have_every_label():
    source = Inferences()
    rng = random.Random(3)
    for _ in range(300):
        hypothesis = source._hypothesis(rng)
        for label in LABELS:
            decisive = source._premise(hypothesis, label, rng)
            aside = source._aside(hypothesis, decisive, rng)
            assert decide([aside, decisive], hypothesis) == label


def test_task_samples_are_pinned():
    """The same seed gives the same data on every Python."""
    lines = [f"{r.text}{r.label}" for r in REVIEWS[:100]]
    lines += [f"{p.premise}{p.hypothesis}{p.label}" for p in PAIRS[:100]]
    assert hashlib.sha256("\n".join(lines).encode()).hexdigest() == PINNED


def test_tasks_reject_bad_settings():
    for name in ("noise", "contrast", "negation"):
        with pytest.raises(ValueError, match=rf"{name} is 1\.5"):
            Reviews(**{name: 1.5})
    for source in (Reviews(), Inferences()):
        with pytest.raises(ValueError, match="n is -1"):
            source.sample(-1, seed=0)

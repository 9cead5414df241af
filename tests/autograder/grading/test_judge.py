import builtins
import copy
import dataclasses
import math
import random
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring.checks import Case, Check, Mistake, Part, mistake, mistakes
from autograder.authoring.compare import agree
from autograder.grading import diagnosis
from autograder.grading.cases import wrong_in
from autograder.grading.judge import ItemJudge, part_seed, submission_seed
from autograder.grading.wording import shorten
from autograder.inside import probe as probing
from autograder.inside import wire
from autograder.inside.messages import Failure
from autograder.records import CheckFault, Observation

JUDGE = ItemJudge()


def mean(values):
    return sum(values) / len(values)


def draw(rng):
    return [Case(f"{n} numbers", {"values": rng.normal(size=n).tolist()}) for n in (1, 3, 5)]


def draw_whole(rng):
    return [Case("whole numbers", {"values": rng.integers(1, 9, size=4).tolist()})]


def probe(implementation, inputs):
    return implementation(inputs["values"])


def probe_unchanged(implementation, inputs):
    before = list(inputs["values"])
    implementation(inputs["values"])
    return inputs["values"] == before


def total(values):
    return sum(values)


def off_by_one(values):
    return sum(values) / (len(values) + 1)


def sorted_in_place(values):
    values.sort()
    return mean(values)


def never_ends(values):
    while True:
        pass


CHECK = Check(
    item="toy_mean",
    points=8.0,
    target="mean",
    reference=mean,
    parts=(
        Part("values", "The mean is right.", draw, probe, weight=3.0),
        Part("kept", "The arguments stay as they are.", draw, probe_unchanged),
        Part("whole", "Whole numbers have a mean too.", draw_whole, probe, weight=4.0),
    ),
    mistakes=(
        Mistake("sum", "Divide by the number of values.", total),
        Mistake("off by one", "Divide by the number of values, not one more.", off_by_one),
        Mistake("in place", "Copy before you sort.", sorted_in_place),
    ),
)
SEED = 3


def with_parts(**changes):
    """The check with its first part changed."""
    first, *others = CHECK.parts
    return dataclasses.replace(CHECK, parts=(dataclasses.replace(first, **changes), *others))


def observe(implementation, check=CHECK, seed=SEED):
    namespace = {"mean": implementation}
    return [
        Observation(
            request.item,
            request.part,
            request.case,
            # On inputs of its own, as in the sandbox: the judge keeps those that were drawn.
            probing.probe_or_failure(
                dataclasses.replace(request, inputs=copy.deepcopy(request.inputs)), namespace
            ),
        )
        for request in JUDGE.requests(check, seed)
    ]


def test_right_answer_earns_all_points():
    verdict = JUDGE.verdict(CHECK, SEED, observe(lambda values: math.fsum(values) / len(values)))
    assert (verdict.points, verdict.max_points, verdict.fault) == (8.0, 8.0, "")
    assert all(part.passed and not part.message for part in verdict.parts)
    assert verdict.misconception is None


def arrived(implementation, check):
    """What the sandbox brings where the judge has said what is known."""
    known = JUDGE.known_answers(check, SEED)
    return [
        dataclasses.replace(seen, value=known[message]["value"]) if message in known else seen
        for seen in observe(implementation, check)
        for message in [wire.encode({"value": seen.value})]
    ]


def test_answer_like_the_references_is_not_compared_again():
    compared = []

    def judge(observed, expected, inputs):
        compared.append(observed)
        return agree()(observed, expected, inputs)

    check = with_parts(judge=judge)
    observations = arrived(mean, check)
    before = len(compared)
    assert JUDGE.verdict(check, SEED, observations).points == 8.0
    assert len(compared) == before
    assert JUDGE.verdict(check, SEED, arrived(off_by_one, check)).points == 1.0
    assert len(compared) > before


def test_answer_like_the_references_fails_where_the_judge_is_not_content_with_it():
    check = with_parts(judge=lambda observed, expected, inputs: "it is wrong")
    verdict = JUDGE.verdict(check, SEED, arrived(mean, check))
    assert [part.passed for part in verdict.parts] == [False, True, True]


def test_nothing_is_known_where_the_reference_breaks():
    assert JUDGE.known_answers(dataclasses.replace(CHECK, reference=None), SEED) == {}


def test_part_earns_its_weight():
    def for_floats_only(values):
        return mean(values) if type(values[0]) is float else 0.0

    verdict = JUDGE.verdict(CHECK, SEED, observe(for_floats_only))
    assert verdict.points == 8.0 * 4 / 8
    assert [part.passed for part in verdict.parts] == [True, True, False]


def test_smallest_failing_case_is_told_in_words():
    verdict = JUDGE.verdict(CHECK, SEED, observe(off_by_one))
    message = verdict.parts[0].message
    assert message.startswith("The mean is right. With 1 numbers: the value is too ")
    note = verdict.parts[0].staff_note
    assert "inputs:" in note and "expected:" in note and "observed:" in note
    expected = mean(JUDGE.requests(CHECK, SEED)[0].inputs["values"])
    assert str(expected)[:6] in note and str(expected)[:6] not in message


@pytest.mark.parametrize(
    ("implementation", "name"),
    [(total, "sum"), (off_by_one, "off by one"), (sorted_in_place, "in place")],
)
def test_mistake_is_recognised(implementation, name):
    verdict = JUDGE.verdict(CHECK, SEED, observe(implementation))
    assert verdict.misconception.name == name


def test_mistake_that_never_ends_is_stopped_where_it_is_declared(monkeypatch):
    monkeypatch.setattr(diagnosis, "ENDLESS_CPU_SECONDS", 0.1)
    endless = Mistake("never ends", "Stop.", never_ends, endless=True)
    check = dataclasses.replace(CHECK, mistakes=(endless, *CHECK.mistakes))
    assert JUDGE.verdict(check, SEED, observe(total)).misconception.name == "sum"
    late = [
        dataclasses.replace(seen, value=Failure("timeout", "no answer within the time limit"))
        for seen in observe(total)
    ]
    assert JUDGE.verdict(check, SEED, late).misconception is None  # nothing ends: no sign of why


def test_mistake_that_never_ends_is_named_though_later_cases_were_not_asked(monkeypatch):
    """Grading asks no more of a part once a case of it did not end; the mistake may end there."""
    monkeypatch.setattr(diagnosis, "ENDLESS_CPU_SECONDS", 0.1)

    def endless_for_one(values):
        return total(values) if len(values) > 1 else never_ends(values)

    mistake = Mistake("endless for one", "Stop.", endless_for_one, endless=True)
    values, _, whole = CHECK.parts
    check = dataclasses.replace(CHECK, parts=(values, whole), mistakes=(mistake,))
    late = Failure("timeout", "the time limit of this call was exceeded")
    seen = [
        dataclasses.replace(one, value=late) if one.part == "values" else one
        for one in observe(total, check)
    ]
    assert JUDGE.verdict(check, SEED, seen).misconception.name == "endless for one"


def test_mistake_that_never_ends_undeclared_is_a_fault(monkeypatch):
    monkeypatch.setattr(diagnosis, "LONGEST_CPU_SECONDS", 0.1)
    check = dataclasses.replace(CHECK, mistakes=(Mistake("loop", "Stop.", never_ends),))
    verdict = JUDGE.verdict(check, SEED, observe(total))
    assert verdict.misconception is None
    assert "'loop': stopped after 0.1 s of CPU: declare it endless or fix it" in verdict.fault


def test_mistake_is_recognised_on_a_busy_machine(monkeypatch):
    monkeypatch.setattr(diagnosis, "LONGEST_CPU_SECONDS", 0.1)

    def total_after_others(values):
        time.sleep(0.15)  # others' turn: the clock on the wall goes on
        return total(values)

    check = dataclasses.replace(CHECK, mistakes=(Mistake("late", "Hurry.", total_after_others),))
    assert JUDGE.verdict(check, SEED, observe(total)).misconception.name == "late"


LONG = 5


def shifted_mean(values):
    start, factor = 0, 1
    return start + factor * sum(values) / len(values)


TWO = mistakes(
    shifted_mean,
    mistake("Begins at one.", replace={"start, factor = 0, 1": "start, factor = 1, 1"}, hint="0."),
    mistake("Minus.", replace={"return start": "return -start"}, hint="Plus.", keeps=0.25),
    mistake("Two too many.", replace={"len(values)": "(len(values) + 2)"}, hint="n.", keeps=0.5),
    mistake("Twice.", replace={"* sum(": "* 2 * sum("}, hint="Once."),
    mistake("Nearly twice.", replace={"factor *": "factor * 2 *"}, hint="Once."),
)
TWO_AT_ONCE = dataclasses.replace(CHECK, mistakes=TWO)


def begins_at_one_and_divides_by_two_too_many(values):
    return 1 + sum(values) / (len(values) + 2)


def test_two_mistakes_at_once_are_both_named():
    seen = observe(begins_at_one_and_divides_by_two_too_many)
    verdict = JUDGE.verdict(TWO_AT_ONCE, SEED, seen)
    assert [found.name for found in verdict.misconceptions] == ["Begins at one.", "Two too many."]
    assert JUDGE.explains(TWO_AT_ONCE, SEED, seen, "Begins at one.", "Two too many.")
    assert not JUDGE.explains(TWO_AT_ONCE, SEED, seen, "Begins at one.")


def test_no_two_mistakes_are_named_where_other_two_explain_as_much():
    seen = observe(lambda values: 1 + 2 * mean(values))
    assert JUDGE.verdict(TWO_AT_ONCE, SEED, seen).misconceptions == ()


def test_no_two_mistakes_are_named_where_one_hides_the_other():
    hiding = mistakes(
        shifted_mean,
        mistake("Twice.", replace={"* sum(": "* 2 * sum("}, hint="Once."),
        mistake(
            "More than once.",
            replace={"/ len(values)": "/ len(values) / (2 if len(values) < LONG else 3)"},
            hint="Once.",
        ),
    )
    check = dataclasses.replace(CHECK, mistakes=hiding)

    def right_where_few(values):
        return mean(values) if len(values) < LONG else 2 * mean(values) / 3

    seen = observe(right_where_few)
    verdict = JUDGE.verdict(check, SEED, seen)
    assert {True, False} == {part.passed for part in verdict.parts}
    assert JUDGE.explains(check, SEED, seen, "Twice.", "More than once.")
    assert verdict.misconceptions == ()


def test_two_mistakes_are_sought_within_a_limit(monkeypatch):
    monkeypatch.setattr(diagnosis, "MOST_PAIR_CASES", 3)
    seen = observe(begins_at_one_and_divides_by_two_too_many)
    assert JUDGE.verdict(TWO_AT_ONCE, SEED, seen).misconceptions == ()


def test_two_mistakes_that_never_end_together_are_stopped(monkeypatch):
    monkeypatch.setattr(diagnosis, "PAIR_CPU_SECONDS", 0.1)

    def count(values):
        number, last = 0, 0
        while number < last:
            number += 1
        return sum(values) / len(values)

    made = mistakes(
        count,
        mistake("One pass.", replace={"last = 0, 0": "last = 0, 1"}, hint="Count."),
        mistake("No step.", replace={"number += 1": "number += 0"}, hint="Step."),
    )
    check = dataclasses.replace(CHECK, mistakes=made)
    verdict = JUDGE.verdict(check, SEED, observe(total))
    assert verdict.misconceptions == () and verdict.fault == ""


def test_form_of_its_own_is_not_sought_among_pairs(monkeypatch):
    monkeypatch.setattr(diagnosis, "both", lambda one, two: pytest.fail("asked for two at once"))
    seen = observe(lambda values: "a text")
    assert JUDGE.verdict(TWO_AT_ONCE, SEED, seen).misconceptions == ()


def test_mistake_keeps_its_share_of_the_points():
    verdict = JUDGE.verdict(TWO_AT_ONCE, SEED, observe(lambda v: sum(v) / (len(v) + 2)))
    assert (verdict.points, verdict.kept) == (4.0, True)
    assert [part.passed for part in verdict.parts] == [False, True, False]


def test_share_is_kept_only_where_it_is_more_than_the_parts_earn():
    in_place = dataclasses.replace(CHECK.mistake("in place"), keeps=0.5)
    check = dataclasses.replace(CHECK, mistakes=(in_place,))
    verdict = JUDGE.verdict(check, SEED, observe(sorted_in_place))
    assert (verdict.points, verdict.kept) == (7.0, False)


def test_two_mistakes_keep_what_each_leaves_of_the_other():
    made = (
        dataclasses.replace(TWO[2], keeps=0.5),
        mistake("Sorts.", replace={"start, factor": "values.sort(); start, factor"}, hint="Copy.")(
            shifted_mean
        ),
    )
    check = dataclasses.replace(CHECK, mistakes=made)

    def both_slips(values):
        values.sort()
        return sum(values) / (len(values) + 2)

    verdict = JUDGE.verdict(check, SEED, observe(both_slips))
    assert len(verdict.misconceptions) == 2
    assert (verdict.points, verdict.kept) == (3.5, True)  # half of 7 of 8 points


def test_who_makes_a_mistake_of_a_share_and_something_unknown_keeps_nothing():
    def tuned(values):
        return sum(values) / (len(values) + 2) + (len(values) == 5)

    verdict = JUDGE.verdict(TWO_AT_ONCE, SEED, observe(tuned))
    assert (verdict.points, verdict.kept) == (1.0, False)


def test_mistake_that_breaks_a_rule_does_not_explain_who_keeps_it():
    """A rule asks for no value in particular, so the mistake's answer is as good a reference."""

    def rule(observed, expected, inputs):
        return None if min(inputs["values"]) <= observed else "the result lies below all values"

    first, _, whole = CHECK.parts
    parts = (first, dataclasses.replace(whole, judge=rule))

    def largest_of_whole_numbers(values):
        return total(values) if type(values[0]) is float else max(values)

    def sum_and_below(values):
        return total(values) if type(values[0]) is float else min(values) - 1

    below = Mistake("below", "Look.", sum_and_below)
    check = dataclasses.replace(CHECK, parts=parts, mistakes=(below,))
    seen = observe(largest_of_whole_numbers, check)
    assert [p.passed for p in JUDGE.verdict(check, SEED, seen).parts] == [False, True]
    assert JUDGE.verdict(check, SEED, seen).misconception is None
    check = dataclasses.replace(check, mistakes=(below, Mistake("sum", "Divide.", total)))
    assert JUDGE.verdict(check, SEED, seen).misconception.name == "sum"  # keeps the rule as well


def test_unknown_mistake_is_not_named():
    verdict = JUDGE.verdict(CHECK, SEED, observe(lambda values: 17.0))
    assert verdict.misconception is None


def test_dtype_alone_is_explained_by_the_mistake_that_shares_it_only():
    def single(values):
        return np.float32(values)

    def halved(values):
        return np.array(values) / 2

    def doubled_in_place(values):  # right in the only part that it is asked about
        values[:] = [2 * value for value in values]
        return np.array(values) / 2

    part = Part("values", "They are kept.", draw_whole, probe, agree(exact_dtype=True))
    mistakes = tuple(Mistake(f.__name__, "Fix it.", f) for f in (doubled_in_place, halved))
    check = dataclasses.replace(CHECK, reference=np.float64, parts=(part,), mistakes=mistakes)
    verdict = JUDGE.verdict(check, SEED, observe(single, check))
    assert "dtype float32" in verdict.parts[0].message and verdict.misconception is None
    check = dataclasses.replace(check, mistakes=(*mistakes, Mistake("single", "Widen.", single)))
    assert JUDGE.verdict(check, SEED, observe(single, check)).misconception.name == "single"


def test_mistake_that_explains_the_wrong_cases_only_is_not_named():
    def sum_of_floats(values):
        return total(values) if type(values[0]) is float else mean(values)

    assert JUDGE.verdict(CHECK, SEED, observe(sum_of_floats)).misconception is None


@pytest.mark.parametrize("kind", ["exception", "unusable", "timeout", "crash"])
def test_diagnosis_needs_more_than_something_that_breaks(kind):
    def broken(values):
        raise KeyError

    check = dataclasses.replace(CHECK, mistakes=(Mistake("key", "Look.", broken),))
    seen = [
        dataclasses.replace(one, value=Failure(kind, "KeyError")) for one in observe(mean, check)
    ]
    assert JUDGE.verdict(check, SEED, seen).misconception is None


def test_what_changes_nothing_earns_nothing_alone():
    first, *others = CHECK.parts
    check = dataclasses.replace(
        CHECK, parts=(first, *(dataclasses.replace(p, earns_alone=False) for p in others))
    )
    answers = observe(mean, check)
    wrong = [dataclasses.replace(a, value=0.5) if a.part == first.name else a for a in answers]
    verdict = JUDGE.verdict(check, SEED, wrong)
    assert [part.passed for part in verdict.parts] == [False, True, True]
    assert verdict.points == 0
    assert JUDGE.verdict(check, SEED, answers).points == check.points


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Failure("missing", "x"), "mean is not defined"),
        (Failure("exception", "ValueError: secret"), "mean raises ValueError"),
        (Failure("exception", "ZeroDivisionError: secret"), "mean raises an exception"),
        (Failure("exception", "Secret: secret"), "mean raises an exception"),
        (Failure("exception", "print: secret"), "mean raises an exception"),
        (
            Failure("unusable", "ValueError: secret"),
            "calling mean as the task says, or using what it gives, raises ValueError",
        ),
        (Failure("timeout", "secret"), "no result after 10 seconds of computing"),
        (Failure("waiting", "secret"), "after a long time, most of which it does not compute"),
        (Failure("late", "secret"), "the time for the whole notebook is used up"),
        (Failure("memory", "secret"), "more memory than is allowed"),
        (Failure("crash", "secret"), "process ends"),
        (Failure("refused", "secret"), "not plain data"),
        (Failure("unheard of", "secret"), "no result"),
    ],
)
def test_failure_is_told_without_its_own_text(failure, words):
    seen = [dataclasses.replace(o, value=failure) for o in observe(mean)]
    verdict = JUDGE.verdict(CHECK, SEED, seen, raised="ValueError")
    assert verdict.points == 0.0
    assert all(words in part.message for part in verdict.parts)
    assert "ecret" not in "".join(part.message for part in verdict.parts)


EXCEPTIONS = [name for name, kind in vars(builtins).items() if isinstance(kind, type)]


@pytest.mark.parametrize("raised", ["", "KeyError", "MyOwn", "print"])
@pytest.mark.parametrize("kind", ["exception", "unusable"])
def test_exception_is_named_only_if_a_visible_test_raised_it(kind, raised):
    said = set()
    for name in (*EXCEPTIONS, "MyOwn", "print"):
        seen = [dataclasses.replace(o, value=Failure(kind, f"{name}: x")) for o in observe(mean)]
        parts = JUDGE.verdict(CHECK, SEED, seen, raised).parts
        said.add("".join(part.message for part in parts))
    assert len(said) == (2 if raised == "KeyError" else 1)


@pytest.mark.parametrize(
    ("said", "is_shown"),
    [
        ("the value is too small", True),
        ("of 3 numbers one is too small, as float32 has it", True),
        ("the result has 1337 rows", False),
        ("the sum is 1.5", False),
        ("x" * 301, False),
        ("two\nlines", False),
    ],
)
def test_student_reads_no_number_that_an_answer_may_have_chosen(said, is_shown):
    part = dataclasses.replace(
        CHECK.parts[0], judge=lambda *_: said, inputs=lambda rng: draw(rng)[1:]
    )
    check = dataclasses.replace(CHECK, parts=(part,), mistakes=())
    seen = [Observation(r.item, r.part, r.case, 1.0) for r in JUDGE.requests(check, SEED)]
    (verdict,) = JUDGE.verdict(check, SEED, seen).parts
    shown = said if is_shown else "the result is not as expected"
    assert verdict.message == f"The mean is right. With 3 numbers: {shown}."
    assert said in verdict.staff_note


def test_missing_observation_counts_as_a_crash():
    assert JUDGE.verdict(CHECK, SEED, []).points == 0.0
    assert JUDGE.verdict(CHECK, SEED, observe(mean)[1:]).points == 8.0 * 5 / 8


outcomes = st.sampled_from(["right", "wrong", "nan", "failure", "missing", "other type"])


def distort(observation, outcome):
    value = {
        "right": observation.value,
        "wrong": 1e9,
        "nan": math.nan,
        "failure": Failure("crash", ""),
        "other type": {"passed": True},
    }.get(outcome)
    return [] if outcome == "missing" else [dataclasses.replace(observation, value=value)]


@given(st.lists(outcomes, min_size=7, max_size=7), st.randoms())
def test_points_are_bounded_and_independent_of_order(chosen, shuffler):
    right = observe(mean)
    seen = [o for pair in zip(right, chosen, strict=True) for o in distort(*pair)]
    verdict = JUDGE.verdict(CHECK, SEED, seen)
    assert 0.0 <= verdict.points <= 8.0
    shuffler.shuffle(seen)
    assert JUDGE.verdict(CHECK, SEED, seen) == verdict


@given(st.lists(outcomes, min_size=7, max_size=7), st.integers(0, 6))
def test_points_never_fall_when_one_more_answer_is_right(chosen, index):
    right = observe(mean)
    better = [*chosen[:index], "right", *chosen[index + 1 :]]
    worse, improved = (
        JUDGE.verdict(CHECK, SEED, [o for p in zip(right, how, strict=True) for o in distort(*p)])
        for how in (chosen, better)
    )
    assert improved.points >= worse.points


def test_broken_draw_is_the_checks_fault():
    broken = with_parts(inputs=lambda rng: 1 / 0)
    with pytest.raises(CheckFault, match="drawing its cases: ZeroDivisionError"):
        JUDGE.requests(broken, SEED)
    verdict = JUDGE.verdict(broken, SEED, [])
    assert verdict.points == 8.0 and "ZeroDivisionError" in verdict.fault


def test_inputs_that_cannot_travel_are_the_checks_fault():
    with pytest.raises(CheckFault, match="type object is not plain"):
        JUDGE.requests(with_parts(inputs=lambda rng: [Case("one", {"x": object()})]), SEED)


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_impossible_weight_is_the_checks_fault(weight):
    with pytest.raises(CheckFault, match=f"weight is {weight}"):
        JUDGE.requests(with_parts(weight=weight), SEED)


def test_broken_reference_is_the_checks_fault_and_costs_nobody_anything():
    broken = dataclasses.replace(CHECK, reference=lambda values: 1 / 0)
    verdict = JUDGE.verdict(broken, SEED, observe(total))
    assert verdict.points == 8.0
    assert "asking the reference version: ZeroDivisionError" in verdict.fault


def test_judge_that_breaks_on_right_answers_is_the_checks_fault():
    verdict = JUDGE.verdict(
        with_parts(judge=lambda observed, expected, inputs: 1 / 0), SEED, observe(mean)
    )
    assert verdict.points == 8.0 and "judging: ZeroDivisionError" in verdict.fault


def test_judge_that_trips_over_an_odd_answer_only_counts_it_as_wrong():
    fragile = with_parts(judge=lambda observed, expected, inputs: abs(observed) * 0 or None)
    verdict = JUDGE.verdict(fragile, SEED, observe(lambda values: {}))
    assert verdict.fault == "" and verdict.points == 8.0 * 1 / 8
    assert "another form" in verdict.parts[0].message


@pytest.mark.parametrize("changed", [np.zeros(0), np.zeros((2, 0)), (), "", None, {}], ids=repr)
def test_what_a_call_changes_is_said_in_a_list_or_it_has_another_form(changed):
    part = dataclasses.replace(CHECK.parts[0], keeps_process=True)
    assert wrong_in(part, (1.0, []), (1.0, []), {"values": [1.0]}) is None
    assert "another form" in wrong_in(part, (1.0, changed), (1.0, []), {"values": [1.0]})


def test_judge_must_answer_none_or_a_text():
    fault = JUDGE.verdict(with_parts(judge=lambda *_: True), SEED, observe(mean)).fault
    assert "returned bool, not None or a text" in fault


def test_requests_are_the_same_for_the_same_seed_only():
    def inputs(seed):
        return [request.inputs for request in JUDGE.requests(CHECK, seed)]

    assert inputs(1) == inputs(1) != inputs(2)


def test_seeds_differ_in_every_part_of_their_names():
    seeds = {
        submission_seed(*names)
        for names in (
            ("s", "ada", "ps1"),
            ("s", "ada", "ps2"),
            ("s", "adap", "s1"),
            ("t", "ada", "ps1"),
        )
    } | {part_seed(1, "a", "bc"), part_seed(1, "ab", "c"), part_seed(11, "", "abc")}
    assert len(seeds) == 7
    assert all(0 <= seed < 1 << 63 for seed in seeds)


def test_class_shares_a_few_seeds_of_its_own():
    def seeds(salt):
        return {submission_seed(salt, f"student {number}", "ps1") for number in range(1000)}

    assert len(seeds("one class")) == 8
    assert not seeds("one class") & seeds("another class")


def test_students_of_one_seed_have_one_draw_and_one_reference_answer():
    calls = []

    def counted(values):
        calls.append(values)
        return mean(values)

    check = dataclasses.replace(CHECK, reference=counted)
    n_cases = len(JUDGE.requests(check, SEED))
    for implementation in (mean, total, off_by_one):
        JUDGE.verdict(check, SEED, observe(implementation, check))
    assert len(calls) == n_cases
    ItemJudge().verdict(check, SEED, observe(mean, check))
    assert len(calls) == 2 * n_cases  # another judge has to ask for itself
    assert all(map(lambda a, b: a is b, JUDGE.requests(check, SEED), JUDGE.requests(check, SEED)))


def test_what_is_not_drawn_is_answered_once_for_all_seeds():
    calls = []

    def counted(values):
        calls.append(list(values))
        return mean(values)

    def fixed_and_drawn(rng):
        return [Case("fixed", {"values": [1.0, 2.0]}), *draw(rng)]

    parts = (Part("values", "They are right.", fixed_and_drawn, probe),)
    check = dataclasses.replace(CHECK, reference=counted, parts=parts, mistakes=())
    judge = ItemJudge()
    for seed in (SEED, SEED + 1, SEED + 2):
        first, *others = judge.requests(check, seed)
        assert list(first.inputs["values"]) == [1.0, 2.0]
        assert others[0].inputs != judge.requests(check, seed + 1)[1].inputs
        judge.known_answers(check, seed)
    assert calls.count([1.0, 2.0]) == 1 and len(calls) == 1 + 3 * len(others)


def test_large_set_is_drawn_once_however_often_it_is_asked():
    draws = []

    def counted(rng):
        draws.append(rng)
        return draw(rng)

    part = Part("values", "They are right.", counted, probe)
    checks = [Check(f"item_{n}", 1.0, "mean", mean, (part,)) for n in range(40)]
    judge = ItemJudge(n_checks=len(checks))
    for _ in range(3):
        for check in checks:
            judge.requests(check, SEED)
    assert len(draws) == len(checks)
    judge.requests(checks[0], SEED + 1)
    judge.requests(checks[0], SEED)
    assert len(draws) == len(checks) + 1  # two seeds are kept


def test_judge_that_changes_what_others_are_compared_with_is_at_fault():
    def sorts(observed, expected, inputs):
        inputs["values"].sort()

    check = with_parts(judge=sorts)
    for _ in range(2):  # also for the next student with the same questions
        verdict = JUDGE.verdict(check, SEED, observe(mean))
        assert "changes the values that it is given" in verdict.fault
        assert verdict.points == 8.0


def test_seeds_are_stable_between_versions():
    # The first 16 digits of `printf '4:part\0...' | sha256sum`, halved.
    assert submission_seed("salt", "ada", "ps1") == 3_740_173_877_409_300_200
    assert part_seed(7, "ps1_counts", "values") == 7_649_781_260_524_609_234


def test_judging_leaves_the_global_generators_as_they_were():
    seen = observe(mean)
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    JUDGE.verdict(CHECK, SEED, seen)
    assert states == (
        random.getstate(),
        np.random.get_state()[1].tolist(),
        torch.get_rng_state().tolist(),
    )


def test_mistake_that_changes_settings_for_good_changes_them_for_nobody_else():
    def switches_off(values):
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        return total(values)

    check = dataclasses.replace(CHECK, mistakes=(Mistake("off", "Switch it on.", switches_off),))
    verdict = JUDGE.verdict(check, SEED, observe(total))
    settings = torch.is_grad_enabled(), torch.get_default_dtype()
    torch.set_grad_enabled(True)  # or a failure here would spread
    torch.set_default_dtype(torch.float32)
    assert settings == (True, torch.float32)
    assert verdict.misconception.name == "off"


def test_inputs_reach_each_call_as_they_were_drawn():
    verdict = JUDGE.verdict(CHECK, SEED, observe(sorted_in_place))
    assert [part.passed for part in verdict.parts] == [True, False, True]


def draw_nothing(rng):
    return [Case("three dice", {})]


def probe_chance(implementation, inputs):
    import random

    import numpy as np
    import torch

    return [implementation(), random.random(), float(np.random.rand()), torch.rand(2)]


def test_probe_sees_the_same_chance_on_both_sides():
    check = dataclasses.replace(
        CHECK,
        reference=random.random,
        parts=(Part("chance", "It is random.", draw_nothing, probe_chance),),
        mistakes=(),
    )
    assert JUDGE.verdict(check, SEED, observe(random.random, check)).points == 8.0


def test_staff_note_of_a_huge_value_is_short():
    verdict = JUDGE.verdict(CHECK, SEED, observe(lambda values: ["x" * 10_000] * 5_000))
    assert len(verdict.parts[0].staff_note) < 6000


@pytest.mark.parametrize("rows", [0, 2**31 - 1])
def test_empty_array_is_shown_without_a_list_for_each_row(rows):
    assert shorten(np.empty((rows, 0))).startswith("array([], ")
    assert shorten(torch.empty(0, rows)).startswith("tensor([], ")

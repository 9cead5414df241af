import dataclasses
import inspect
import math  # noqa: F401  (read by a replacement)
import textwrap

import pytest

from autograder.authoring.checks import (
    Mistake,
    both,
    changes_nothing_else,
    mistake,
    mistakes,
)

LIMIT = 3


def clipped(numbers):
    """Cuts off what is above the limit."""
    result = []
    for number in numbers:
        if number > LIMIT:
            result.append(LIMIT)
        else:
            result.append(number)
    return result


def halved(n):
    """Halves until nothing is left."""
    return [n, *halved(n // 2)] if n else []


@mistake(hint="Keep the order.")
def largest_first(numbers):
    """The numbers are sorted."""
    return sorted((min(number, LIMIT) for number in numbers), reverse=True)


def test_mistakes_are_changes_of_a_right_answer_or_answers_of_their_own():
    found = mistakes(
        clipped,
        mistake("Nothing is cut off.", replace={"number > LIMIT": "False"}, hint="Compare."),
        largest_first,
        mistake("It loses.", replace={"result.append(LIMIT)": "pass", "[]": "[0]"}, hint="Keep."),
    )
    assert [wrong.name for wrong in found] == [
        "Nothing is cut off.",
        "The numbers are sorted.",
        "It loses.",
    ]
    assert [wrong.hint for wrong in found] == ["Compare.", "Keep the order.", "Keep."]
    answers = [wrong.implementation([5, 1]) for wrong in found]
    assert answers == [[5, 1], [3, 1], [0, 1]]
    assert clipped([5, 1]) == [3, 1]


def test_changed_answer_can_be_read_like_any_other():
    (wrong,) = mistakes(clipped, mistake("It starts at 1.", replace={"[]": "[1]"}, hint="No."))
    source = textwrap.dedent(inspect.getsource(clipped)).replace("[]", "[1]")
    assert inspect.getsource(wrong.implementation) == source
    assert wrong.implementation.__name__ == "clipped"


def test_changed_answer_calls_itself_and_not_the_right_one():
    (wrong,) = mistakes(halved, mistake("It takes thirds.", replace={"// 2": "// 3"}, hint="No."))
    assert wrong.implementation(9) == [9, 3, 1]
    assert halved(9) == [9, 4, 2, 1]


@pytest.mark.parametrize(
    "replace",
    [
        {"result.append(number)": "result.append(number)\n    number += 1\n    continue"},
        {
            """
            else:
                result.append(number)
            """: """
            else:
                result.append(number)
                    number += 1
            """
        },
    ],
)
def test_replacement_that_does_not_fit_is_no_python(replace):
    with pytest.raises(SyntaxError):
        mistakes(clipped, mistake("It is no Python.", replace=replace, hint="No."))


def test_several_lines_are_indented_like_what_they_replace():
    one_by_several = {"result.append(LIMIT)": "result.append(0)\nresult.append(LIMIT)"}
    several_by_one = {
        """
        if number > LIMIT:
            result.append(LIMIT)
        else:
            result.append(number)
        """: "result.append(math.floor(number))"
    }
    several_by_none = {"if number > LIMIT:\n    result.append(LIMIT)\nelse:": "if number:"}
    answers = [
        mistakes(clipped, mistake("Changed.", replace=replace, hint="No."))[0].implementation
        for replace in (one_by_several, several_by_one, several_by_none)
    ]
    assert [answer([5.5, 0, 1]) for answer in answers] == [[0, 3, 0, 1], [5, 0, 1], [5.5, 1]]


@pytest.mark.parametrize(
    ("replace", "complaint"),
    [
        ({"number < LIMIT": ""}, "'number < LIMIT' occurs 0 times in clipped; it must occur once"),
        ({"result": "found"}, "'result' occurs 4 times in clipped; it must occur once"),
        ({"if number:\n    pass": ""}, "occurs 0 times in clipped"),
        ({"number > LIMIT": "True", "LIMIT:": "1:"}, "what another text replaces, too"),
        ({"LIMIT:": "MOST:"}, "it uses the name MOST, which its file does not define"),
    ],
)
def test_replacement_that_cannot_be_made_names_item_and_mistake(replace, complaint):
    with pytest.raises(ValueError, match=r"test_checks, mistake .Off by one\..: ") as raised:
        mistakes(clipped, mistake("Off by one.", replace=replace, hint="No."))
    assert complaint in str(raised.value)


def test_two_mistakes_are_made_at_once_where_both_changes_fit():
    none, below, sorted_, loses = mistakes(
        clipped,
        mistake("Nothing is cut off.", replace={"number > LIMIT": "False"}, hint="Compare."),
        mistake("Cut off from below.", replace={"number > LIMIT": "number < LIMIT"}, hint="Up."),
        largest_first,
        mistake("It loses.", replace={"append(number)": "append(0)"}, hint="Keep."),
    )
    assert both(none, loses)([5, 1]) == [0, 0]
    assert both(none, below) is None  # they change the same text
    assert both(none, sorted_) is None  # nothing is replaced there
    assert both(none, dataclasses.replace(loses, endless=True)) is None


def test_mistake_keeps_at_most_half():
    with pytest.raises(ValueError, match=r"keeps is 0\.6; it must be from 0 to 0\.5"):
        mistake("All.", hint="No.", keeps=0.6)(largest_first.implementation)


def test_answers_without_a_name_are_refused():
    def nameless(numbers):
        return numbers

    with pytest.raises(ValueError, match="nameless has no docstring; it names the answer"):
        mistake(hint="No.")(nameless)
    assert isinstance(mistake("It has one.", hint="No.")(nameless), Mistake)
    assert mistake(hint="No.")(clipped).name == clipped.__doc__


def test_judge_of_what_else_changes_leaves_the_answer_to_others():
    judge = changes_nothing_else()
    assert judge(([1], "kept"), ([1], "kept"), {}) is None
    assert judge(([2], "kept"), ([1], "kept"), {}) is None
    assert "changes something besides its result" in judge(([1], "lost"), ([1], "kept"), {})
    assert judge("no tuple", ([1], "kept"), {}) is not None

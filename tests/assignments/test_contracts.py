"""What follows from the contract of a task's arguments."""

import contextlib

import numpy as np
import pytest
import torch

from assignments.contracts import LAYOUTS, LOWER_THAN_ANY, MORE, Contract, far_scores
from assignments.tensors import call, tensor_case

ATTENTION = Contract("*texts T K; *texts S K; *texts T S; -")


def arguments(*leading):
    query, key = torch.randn(*leading, 3, 2), torch.randn(*leading, 4, 2)
    return [query, key, torch.ones(3, 4, dtype=torch.bool), 0.5]


def draw_one(made):
    return lambda rng: [tensor_case("one", "float32", *made)]


def drawn(draw):
    return draw(np.random.default_rng(0))


def test_axes_are_named_from_the_right():
    query, key, mask, number = ATTENTION.axes(arguments(5, 7))
    assert query == {-4: "texts 2", -3: "texts 1", -2: "T", -1: "K"}
    assert key == {-4: "texts 2", -3: "texts 1", -2: "S", -1: "K"}
    assert (mask, number) == ({-2: "T", -1: "S"}, {})
    assert ATTENTION.axes([*arguments()[:2], torch.ones(4, dtype=torch.bool), 1])[2] == {-1: "S"}
    assert ATTENTION.axes([*arguments()[:2], None, 1])[2] == {}
    assert Contract("B R").axes([(torch.ones(2, 3), torch.ones(2, 3))]) == [{-2: "B", -1: "R"}]


def test_argument_with_an_axis_too_many_is_refused():
    with pytest.raises(ValueError, match=r"'B T' is declared, the shape is \(1, 2, 3\)"):
        Contract("B T").axes([torch.ones(1, 2, 3)])


def test_longer_input_grows_along_one_axis_in_all_arguments():
    cases = drawn(ATTENTION.longer(draw_one(arguments(5, 7)), "texts", "S"))
    grown = []
    for case in cases:
        query, key, mask, _ = case.inputs["long"]
        grown.append((tuple(query.shape), tuple(key.shape), tuple(mask.shape)))
        n_more = case.inputs["n_more"]
        sizes = zip(case.inputs["arguments"][1].shape, key.shape, strict=True)
        assert max(long - short for short, long in sizes) == n_more >= MORE
    assert grown == [
        ((250, 7, 3, 2), (250, 7, 4, 2), (3, 4)),
        ((5, 252, 3, 2), (5, 252, 4, 2), (3, 4)),
        ((5, 7, 3, 2), (5, 7, 248, 2), (3, 248)),
    ]


def test_longer_input_can_be_asked_of_one_of_several_leading_axes():
    (case,) = drawn(ATTENTION.longer(draw_one(arguments(5, 7)), "texts 2"))
    assert case.inputs["long"][0].shape == (250, 7, 3, 2)


def test_axis_of_length_one_goes_on_broadcasting():
    contract = Contract("*rows D; *rows D")
    made = [torch.ones(3, 2), torch.ones(1, 2)]
    (case,) = drawn(contract.longer(draw_one(made), "rows"))
    assert [tuple(argument.shape) for argument in case.inputs["long"]] == [(246, 2), (1, 2)]


def test_case_of_most_axes_is_laid_out_in_every_way():
    cases = drawn(
        ATTENTION.forms(
            lambda rng: (
                [*draw_one(arguments(2, 5))(rng)]
                + 2 * [tensor_case("small", "float32", *arguments())]
            )
        )
    )
    *laid_out, deeper, turned = cases
    assert [case.inputs["layout"] for case in laid_out] == ["turned", "gaps", *LAYOUTS]
    assert all(LAYOUTS[case.inputs["layout"]] in case.label for case in laid_out)
    assert (deeper.inputs["layout"], turned.inputs["layout"]) == ("plain", "turned")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_keep_values_and_break_views(layout):
    made = arguments(5, 7)
    forms = drawn(ATTENTION.forms(draw_one(made)))
    case = next(case for case in forms if case.inputs["layout"] == layout)
    seen = {}
    call(lambda *found: seen.update(zip("qkm", found, strict=False)) or 0, case.inputs)
    expected = made
    if layout == "shared":
        expected = [made[0][:1].expand(5, 7, 3, 2), made[1][:1].expand(5, 7, 4, 2), made[2]]
        assert seen["q"].stride(0) == 0
    assert all(torch.equal(a, b) for a, b in zip(seen.values(), expected, strict=False))
    for name in "qk":
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            seen[name].view(-1, 2)


def test_case_of_most_axes_comes_with_two_more_of_the_starred_name():
    made = arguments(2, 5)
    *_, deeper, turned = drawn(ATTENTION.forms(draw_one(made)))
    query, key, mask, number = deeper.inputs["arguments"]
    for case, fails in ((deeper, False), (turned, True)):  # several leading axes as one
        with pytest.raises(RuntimeError) if fails else contextlib.nullcontext():
            call(lambda query, *_: query.view(-1, *query.shape[-2:]), case.inputs)
    assert (query.shape, key.shape) == ((2, 1, 2, 5, 3, 2), (2, 1, 2, 5, 4, 2))
    assert (mask.shape, number) == ((3, 4), 0.5)  # a mask of fewer axes goes on broadcasting
    assert query[0, 0].equal(made[0])
    assert query[1, 0].equal(made[0].flip(1))  # another order, so that no row is repeated
    assert key[1, 0].equal(made[1].flip(1))


def test_no_axis_is_added_where_only_a_later_argument_has_a_star():
    draw = draw_one([torch.ones(2, 3, 4), torch.ones(2, 1, 3, 3, dtype=torch.bool)])
    assert len(drawn(Contract("B T D; *more T T").forms(draw))) == len(LAYOUTS)


def test_axes_that_may_be_empty_are_emptied_in_all_arguments():
    contract = Contract("*rows T K; T; -", empty="rows T")
    draw = draw_one([torch.ones(2, 3, 5, 4), torch.arange(5), 0.5])
    shapes = [
        tuple(tuple(part.shape) for part in case.inputs["arguments"][:2])
        for case in drawn(contract.forms(draw))[-3:]
    ]
    assert shapes == [((0, 3, 5, 4), (5,)), ((0, 0, 5, 4), (5,)), ((2, 3, 0, 4), (0,))]


def test_far_scores_are_finite_and_below_what_stands_for_infinity_elsewhere():
    assert LOWER_THAN_ANY["float64"] < torch.finfo(torch.float32).min
    assert LOWER_THAN_ANY["float32"] < -1e30
    for dtype in LOWER_THAN_ANY:
        scores = far_scores(dtype)
        assert scores.isfinite().all()
        assert scores.softmax(dim=-1).amax(dim=-1).equal(torch.ones(3, dtype=scores.dtype))


@pytest.mark.parametrize(
    ("contract", "says"),
    [
        (Contract("B T"), "in any order, as after a transpose."),
        (Contract("*rows D"), "in any order and have more axes than usual."),
        (Contract("*rows D", empty="rows"), "have more axes than usual and be empty."),
    ],
)
def test_part_says_what_it_asks_for(contract, says):
    assert contract.requirement.endswith(says)

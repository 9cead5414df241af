"""What follows from the contract of a task's arguments."""

import numpy as np
import pytest
import torch

from assignments.contracts import LAYOUTS, MORE, Contract
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
    assert [case.inputs["layout"] for case in cases] == ["turned", "gaps", *LAYOUTS]
    assert all(LAYOUTS[case.inputs["layout"]] in case.label for case in cases)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_keep_values_and_break_views(layout):
    made = arguments(5, 7)
    (case,) = (c for c in drawn(ATTENTION.forms(draw_one(made))) if c.inputs["layout"] == layout)
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

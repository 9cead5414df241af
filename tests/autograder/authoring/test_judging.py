"""What counts as a verdict where students write the test."""

import textwrap

import numpy as np
import pytest
import torch

from autograder.authoring.checks import Part
from autograder.authoring.judging import WRONG, tell, told
from autograder.inside.messages import ProbeRequest
from autograder.inside.probe import probe_or_failure


def verdict(said):
    return told(tell(lambda hidden: said, {}), True, {})


@pytest.mark.parametrize("said", [True, torch.tensor(True), np.bool_(True)])
def test_bool_of_torch_or_numpy_is_a_verdict(said):
    assert verdict(said) is None


@pytest.mark.parametrize("said", [1, "True", None, torch.tensor([True]), torch.tensor(1)])
def test_what_is_no_bool_is_none(said):
    assert verdict(said) == "your test returns neither True nor False"


def said_of(test, partner):
    """Run a test on an implementation as the judge does beside the reference version."""
    source = Part("p", WRONG, lambda rng: [], tell, told, partner=partner).probe_source
    request = ProbeRequest("i", "p", 0, "judge", source, {}, 5.0, (), partner)
    names = {"__name__": "__main__"}
    exec(test, names)
    return probe_or_failure(request, names)


WELL = "def partner(x):\n    return x"


@pytest.mark.parametrize("kind", ["ValueError", "StopIteration", "MemoryError", "Own"])
def test_exception_of_the_implementation_that_a_test_lets_through_is_a_refusal(kind):
    raises = f"class Own(Exception): pass\ndef partner(x):\n    raise {kind}"
    assert said_of("def judge(f):\n    return f(3) == 3", raises) is False
    assert said_of("def judge(f):\n    return f(3) == 3", WELL) is True


OWN = {
    "before any call": ("raise ValueError", "ValueError"),
    "after a call that went well": ("f(0)\nraise ValueError", "ValueError"),
    "another of the same type": ("try: f(3)\nexcept ValueError: raise ValueError", "ValueError"),
    "while one is handled": ("try: f(3)\nexcept ValueError: return undefined", "NameError"),
    "of too many calls": ("for _ in range(400): f(0)", "RuntimeError"),
}


@pytest.mark.parametrize("own", OWN)
def test_exception_of_the_tests_own_is_no_verdict(own):
    body, kind = OWN[own]
    raises = "def partner(x):\n    if x: raise ValueError('secret')"
    said = said_of("def judge(f):\n" + textwrap.indent(body, "    "), raises)
    assert said.kind == "exception" and said.message.startswith(kind)

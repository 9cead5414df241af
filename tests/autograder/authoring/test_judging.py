"""What counts as a verdict where students write the test."""

import numpy as np
import pytest
import torch

from autograder.authoring.judging import tell, told


def verdict(said):
    return told(tell(lambda hidden: said, {}), True, {})


@pytest.mark.parametrize("said", [True, torch.tensor(True), np.bool_(True)])
def test_bool_of_torch_or_numpy_is_a_verdict(said):
    assert verdict(said) is None


@pytest.mark.parametrize("said", [1, "True", None, torch.tensor([True]), torch.tensor(1)])
def test_what_is_no_bool_is_none(said):
    assert verdict(said) == "your test returns neither True nor False"

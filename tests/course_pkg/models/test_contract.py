"""What holds for every model alike: how it is called, and how it is asked."""

import inspect
import pkgutil
from importlib import import_module

import pytest
import torch
from torch import nn

from course_pkg import models
from course_pkg.models.bert import BERT, bert_tiny
from course_pkg.models.inference import inference


def classes_with_a_loss():
    names = [module.name for module in pkgutil.iter_modules(models.__path__)]
    modules = [import_module(f"{models.__name__}.{name}") for name in names]
    return {
        cls.__name__: cls
        for module in modules
        for cls in vars(module).values()
        if inspect.isclass(cls)
        and issubclass(cls, nn.Module)
        and "targets" in inspect.signature(cls.forward).parameters
    }


@pytest.mark.parametrize("name", classes_with_a_loss())
def test_targets_in_the_place_of_something_else_cannot_be_passed(name):
    """`model(ids, targets)` gives the loss, or an error: never quietly none."""
    parameters = inspect.signature(classes_with_a_loss()[name].forward).parameters.values()
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == ["self", "ids"] or positional[positional.index("ids") + 1] == "targets"


def test_bert_given_targets_by_place_refuses_them():
    ids = torch.tensor([[3, 1, 0]])
    with pytest.raises(TypeError, match="positional"):
        BERT(bert_tiny(11))(ids, ids)


def test_inference_leaves_each_part_in_the_mode_that_it_had():
    model = nn.Sequential(nn.Dropout(), nn.Sequential(nn.Dropout(), nn.Linear(2, 2)))
    model[1].eval()  # a frozen part of a model in training
    with inference(model):
        assert not any(module.training for module in model.modules())
    assert [module.training for module in model.modules()] == [True, True, False, False, False]

"""Adapting a model: a batch that is computed in parts teaches what the whole one does."""

import pytest
import torch

from benchmarks.chapters.backbones import Reading, fine_tune
from course_pkg.models.adaptation import TextClassifier
from course_pkg.models.gpt import GPT, gpt_tiny


def test_a_batch_in_parts_gives_the_weights_that_the_whole_batch_gives():
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 9, (12,), generator=draw).tolist()
    examples = [
        Reading(torch.randint(11, (n,), generator=draw).tolist(), place % 2)
        for place, n in enumerate(lengths)
    ]

    def trained(n_accumulate, seed=0):
        generator = torch.Generator().manual_seed(3)
        made = TextClassifier(GPT(gpt_tiny(11), generator=generator), 2, generator=generator)
        before = [p.detach().clone() for p in made.parameters()]
        fine_tune(
            made,
            examples,
            n_epochs=1,
            lr=1e-3,
            seed=seed,
            batch_size=12,
            n_accumulate=n_accumulate,
        )
        return torch.cat(
            [(p - b).flatten() for p, b in zip(made.parameters(), before, strict=True)]
        )

    whole, parts = trained(1), trained(4)
    # Adam's first step is the rate times the gradient's sign; bfloat16 tells few signs otherwise.
    assert whole.abs().max() > 5e-4
    assert ((whole - parts).abs() < 1e-4).float().mean() > 0.97


@pytest.mark.parametrize("n_accumulate", [0, 3, 64])
def test_a_batch_has_equal_parts_or_none_is_read(n_accumulate):
    """With three parts of ten, a batch of 32 would be one of 30."""
    made = TextClassifier(GPT(gpt_tiny(11)), 2)
    with pytest.raises(ValueError, match=rf"n_accumulate is {n_accumulate}; it must"):
        fine_tune(made, [Reading([1], 0)] * 64, n_epochs=1, lr=1e-3, n_accumulate=n_accumulate)

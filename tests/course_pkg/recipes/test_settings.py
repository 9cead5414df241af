"""Recipes as records: complete, checked, and the same after a round trip."""

import pytest

from course_pkg.recipes import KINDS, SIZES, Recipe


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", SIZES)
def test_recipe_round_trips(kind, size):
    recipe = Recipe.of(kind, "stories", size)
    assert Recipe.from_json(recipe.to_json()) == recipe


def test_changes_reach_recipe_and_trainer():
    recipe = Recipe.of("gpt", "names", "tiny", batch_size=5, n_steps=70, lr=0.01, seed=3)
    assert (recipe.batch_size, recipe.seed) == (5, 3)
    assert (recipe.trainer.n_steps, recipe.trainer.lr) == (70, 0.01)
    assert recipe.tokenizer == "char"


def test_unchanged_settings_are_those_of_the_size():
    assert Recipe.of("gpt", "stories", "small", lr=None).trainer.lr == SIZES["small"].lr


@pytest.mark.parametrize("n_steps", [1, 7, 19, 100, 5000])
def test_every_length_of_run_is_logged_evaluated_and_saved(n_steps):
    trainer = Recipe.of("gpt", "stories", "tiny", n_steps=n_steps).trainer
    assert trainer.log_every <= max(1, n_steps // 5)
    assert trainer.evaluate_every <= max(5, n_steps // 2)
    assert trainer.checkpoint_every == trainer.evaluate_every


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": "huge"}, "size is 'huge'; it must be one of tiny, small"),
        ({"kind": "gpt5"}, "kind is 'gpt5'"),
        ({"tokenizer": "morse"}, "tokenizer is 'morse'"),
        ({"batch_size": 0}, "batch_size is 0; it must be at least 1"),
        ({"lr": -1.0}, "lr is -1.0"),
        ({"mask_rate": 1.0}, "mask_rate is 1.0; it must lie between 0 and 1"),
        ({"speed": 3}, "no setting 'speed'"),
    ],
)
def test_recipe_rejects_what_it_does_not_know(changes, message):
    settings = {"kind": "gpt", "corpus": "stories", "size": "tiny"} | changes
    with pytest.raises(ValueError, match=message):
        Recipe.of(**settings)

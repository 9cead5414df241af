"""Files that appear whole or not at all, and that other programs can read."""

import json
import math
from dataclasses import replace

import pytest

from course_pkg.common.files import NOT_FINITE, as_json, digest_of, replacing, write_atomically
from course_pkg.recipes import Recipe
from course_pkg.results import Result, chapter_results, check_results
from course_pkg.training.checkpoint import list_checkpoints, load_checkpoint, save_checkpoint
from course_pkg.training.log import read_log
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.widgets.widget import Widget
from tests.course_pkg.training.toy import CycleBatches, model


def test_the_old_file_stays_when_the_new_one_is_interrupted(tmp_path, monkeypatch):
    path = tmp_path / "file.json"
    write_atomically(path, "1")

    def power_cut(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", power_cut)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, "2")
    assert path.read_text() == "1"
    assert [p.name for p in tmp_path.iterdir()] == ["file.json"]


def test_the_new_file_has_its_name_and_every_reader_only_when_it_is_complete(tmp_path):
    path = tmp_path / "new.txt"
    with replacing(path) as scratch:
        scratch.write_text("half")
        assert not path.exists()
    assert path.read_text() == "half"
    assert path.stat().st_mode & 0o777 == 0o644


def strict(text):
    """Read JSON as programs do that are not Python."""

    def refuse(word):
        raise ValueError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_json_of_numbers_that_are_not_finite_is_json_and_gives_them_back():
    numbers = {"nan": math.nan, "all": [math.inf, (-math.inf, 1.5)], "text": "x"}
    found = strict(as_json(numbers))
    assert found == {"nan": "NaN", "all": ["Infinity", ["-Infinity", 1.5]], "text": "x"}
    assert {repr(float(text)) for text in NOT_FINITE} == {"nan", "inf", "-inf"}
    assert as_json([1, "é"], ensure_ascii=False) == '[1, "é"]'
    assert digest_of({"a": math.inf}) == digest_of({"a": "Infinity"})


def test_run_whose_figures_are_not_finite_writes_json_and_goes_on_with_the_numbers(tmp_path):
    config = TrainerConfig(n_steps=4, log_every=2, evaluate_every=2, spike_factor=math.inf)

    def figures(toy):
        return {"valid_loss": math.nan, "perplexity": math.inf, "sample": "inf"}

    def trainer():
        return Trainer(model(), CycleBatches(), config, folder=tmp_path, evaluate=figures)

    history = trainer().train()
    for line in (tmp_path / "log.jsonl").read_text().splitlines():
        strict(line)
    (checkpoint,) = list_checkpoints(tmp_path)[-1:]
    assert strict((checkpoint / "state.json").read_text())
    assert load_checkpoint(checkpoint).state["config"]["spike_factor"] == math.inf
    for entries in (history, read_log(tmp_path), trainer().train(resume=True)):
        last = entries[-1]
        assert math.isnan(last["valid_loss"]) and last["perplexity"] == math.inf
        assert last["sample"] == "inf"


def test_state_of_a_checkpoint_keeps_numbers_and_texts_apart(tmp_path):
    state = {"numbers": [math.inf, -math.inf], "texts": ["Infinity", "NaN"]}
    path = save_checkpoint(tmp_path, 0, model(), state)
    assert strict((path / "state.json").read_text())
    assert load_checkpoint(path).state == state


def test_recipe_and_results_with_infinity_are_json(tmp_path, monkeypatch):
    recipe = Recipe.of("gpt", "stories", "tiny", spike_factor=math.inf)
    assert strict(recipe.to_json())
    assert Recipe.from_json(recipe.to_json()) == recipe
    row = Result("ngrams", "bigram", "stories", math.inf)
    monkeypatch.setenv("COURSE_RECORD", "1")
    check_results([row], folder=tmp_path)
    assert strict((tmp_path / "ngrams.jsonl").read_text())
    monkeypatch.delenv("COURSE_RECORD")
    check_results([replace(row)], folder=tmp_path)
    assert chapter_results("ngrams", tmp_path) == [row]


def test_figure_to_touch_of_a_broken_model_is_refused_and_not_dead_in_the_page():
    figure = Widget("lm-gaps", {"shares": [0.5, math.nan]}, alt="x", header=["a"], rows=[["b"]])
    with pytest.raises(ValueError, match="the data of lm-gaps has nan or inf"):
        figure.to_html()

"""The command that trains, as a person runs it: begun, killed, resumed, refused."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course_pkg import train
from course_pkg.recipes import Recipe, data
from course_pkg.training.lock import LOCK_FILE
from course_pkg.weights import model_folders
from course_pkg.weights.model_folders import load_model

ROOT = Path(__file__).parents[2]
SMALL = ["gpt", "--corpus", "reference", "--tokenizer", "char", "--steps", "12"]
SMALL += ["--batch-size", "4", "--context-length", "16", "--device", "cpu"]


def log(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def losses(folder):
    return {entry["step"]: entry["loss"] for entry in log(folder) if "loss" in entry}


def test_run_leaves_recipe_log_model_and_card(tmp_path, capsys):
    folder = tmp_path / "run"
    train.main([*SMALL, "--out", str(folder)])
    printed = capsys.readouterr().out
    assert '"kind": "gpt"' in printed  # the recipe
    assert "parameters, vocabulary of" in printed
    entry = next(entry for entry in log(folder) if "loss" in entry)
    assert {"tokens_per_second", "mfu", "gradient_norm", "lr"} <= entry.keys()
    assert entry["mfu"] > 0
    loaded = load_model(folder / "model")
    assert loaded.kind == "gpt"
    for fact in ("licence: PSF", "source: package: pydoc_data.topics", "| 12 |", "12 updates"):
        assert fact in loaded.card


def test_bert_on_texts_so_short_that_some_hide_no_token_trains(tmp_path):
    settings = ["--corpus", "reference", "--tokenizer", "char", "--steps", "40", "--seed", "1"]
    shape = ["--batch-size", "1", "--context-length", "8", "--device", "cpu"]
    train.main(["bert", *settings, *shape, "--out", str(tmp_path)])
    found = losses(tmp_path)
    assert max(found) == 40 and all(0 < loss < 10 for loss in found.values())
    assert not any("event" in entry for entry in log(tmp_path))


def test_fast_run_equals_the_readable_one(tmp_path):
    """All but the padded vocabulary, which draws other weights."""
    settings = {"batch_size": 4, "context_length": 16, "n_steps": 12}
    for fast in (False, True):
        recipe = Recipe.of("gpt", "reference", "tiny", tokenizer="char", fused=fast, **settings)
        train.run(recipe, tmp_path / str(fast), torch.device("cpu"), resume=False, fast=fast)
    # Fused and written-out AdamW round differently; twelve updates apart it is 1e-6.
    assert losses(tmp_path / "True") == pytest.approx(losses(tmp_path / "False"), rel=1e-5)


def test_fast_command_pads_the_vocabulary(tmp_path):
    train.main([*SMALL, "--fast", "--steps", "2", "--out", str(tmp_path)])
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["structure"]["vocab_size"] == 128  # of 101 characters


@pytest.mark.parametrize(
    ("kind", "device", "compiled", "precision"),
    [
        ("gpt", "cuda", True, "bfloat16"),
        ("seq2seq", "cuda", False, "bfloat16"),
        ("gpt", "cpu", False, "float32"),
    ],
)
def test_fast_follows_the_device_and_the_kind(kind, device, compiled, precision):
    options = train.parse([kind, "--fast"])
    trainer = train.recipe_of(options, torch.device(device)).trainer
    assert (trainer.compile, trainer.precision, trainer.fused) == (compiled, precision, True)


def test_second_run_in_a_folder_is_refused_without_resume(tmp_path, capsys):
    train.main([*SMALL, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as stop:
        train.main([*SMALL, "--out", str(tmp_path)])
    assert stop.value.code == 1
    assert "has a run: add --resume to go on" in capsys.readouterr().err


def test_recipe_that_was_changed_by_hand_is_said_to_be(tmp_path, capsys):
    train.main([*SMALL, "--steps", "1", "--out", str(tmp_path)])
    file = tmp_path / "recipe.json"
    file.write_text(file.read_text().replace('"lr": 0.003', '"lr": 0.3'))
    with pytest.raises(SystemExit):
        train.main([*SMALL, "--steps", "1", "--lr", "0.3", "--resume", "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert "recipe.json cannot be read as a recipe: it was changed after it was written" in said


def test_recipe_without_a_checksum_is_of_an_earlier_version(tmp_path, capsys):
    train.main([*SMALL, "--steps", "1", "--out", str(tmp_path)])
    file = tmp_path / "recipe.json"
    fields = json.loads(file.read_text())
    del fields["sha256"]
    file.write_text(json.dumps(fields))
    train.main([*SMALL, "--steps", "1", "--resume", "--out", str(tmp_path)])
    assert "this run is finished" in capsys.readouterr().out


def test_folder_in_which_another_process_trains_is_left_alone(tmp_path, capsys):
    with (tmp_path / LOCK_FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SystemExit):
            train.main([*SMALL, "--out", str(tmp_path)])
    assert "is being trained in by another process" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]


def test_file_in_place_of_the_folder_is_named(tmp_path, capsys):
    (tmp_path / "out").write_text("theirs")
    with pytest.raises(SystemExit):
        train.main([*SMALL, "--out", str(tmp_path / "out")])
    assert f"error: {tmp_path / 'out'} is a file; name a folder" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["bert", "t5"])
def test_cost_of_a_token_leaves_out_what_it_does_not_pass(tmp_path, kind):
    recipe = Recipe.of(kind, "reference", "tiny", tokenizer="char", context_length=16)
    plain = train.prepare(recipe, tmp_path).plain
    cost = train.flops_per_token(plain, 16)
    left_out = {"bert": 6 * 0.85 * plain.vocab_size * 64, "t5": cost / 2}[kind]
    assert train._cost(recipe, plain) == pytest.approx(cost - left_out)


@pytest.mark.parametrize("name", ["recipe.json", "model/thesis.tex"])
def test_what_is_not_of_a_run_is_refused_before_training(tmp_path, capsys, name):
    theirs = tmp_path / name
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text('{"eggs": 2}')
    with pytest.raises(SystemExit):
        train.main([*SMALL, "--out", str(tmp_path)])
    assert theirs.name in capsys.readouterr().err
    assert theirs.read_text() == '{"eggs": 2}' and not (tmp_path / "log.jsonl").exists()


def test_resume_by_another_recipe_is_refused(tmp_path, capsys):
    train.main([*SMALL, "--out", str(tmp_path)])
    with pytest.raises(SystemExit):
        train.main([*SMALL, "--lr", "0.5", "--resume", "--out", str(tmp_path)])
    assert "lr was 0.003, not 0.5" in capsys.readouterr().err


class KilledError(BaseException):
    """Stands for SIGKILL: nothing of ours runs after it."""


def killed(*args, **kwargs):
    raise KilledError


def killed_between(unfinished, folder):
    """What is written stays where it is; only `save_model` would remove it."""
    shutil.copytree(unfinished, f"{unfinished}.left")
    raise KilledError


def killed_at_7(trainer, note=train.Trainer._note_updates):
    return killed() if trainer.run.step == 7 else note(trainer)


def test_run_killed_before_its_model_was_written_is_finished_by_resuming(
    tmp_path, capsys, monkeypatch
):
    command = [*SMALL, "--out", str(tmp_path)]
    for moment in (
        (data, "write_atomically", killed),  # the tokens are there, and nothing says so
        (train.Trainer, "_note_updates", killed_at_7),
        (train, "save_model", killed),  # after the last checkpoint
        (model_folders, "_put_in_place", killed_between),  # while the model is written
        (model_folders, "_put_in_place", killed_between),
    ):
        with monkeypatch.context() as patch, pytest.raises(KilledError):
            patch.setattr(*moment)
            train.main([*command, "--resume"])
        assert not (tmp_path / "model").exists()
        if moment[0] is data:
            (tmp_path / "tokens" / ".train.tokens.left").touch()
    assert list(tmp_path.glob(".model.*"))
    train.main([*command, "--resume"])
    assert not [*tmp_path.glob(".model.*"), *tmp_path.glob("tokens/.*")]
    card = load_model(tmp_path / "model").card
    assert [line.split()[1] for line in card.splitlines() if line.startswith("| ")][1:] == [
        *("5", "10", "12")
    ]
    capsys.readouterr()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    train.main([*command, "--resume"])
    assert "this run is finished; the model and its card" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_damaged_recipe_is_named(tmp_path, capsys):
    train.main([*SMALL, "--steps", "1", "--out", str(tmp_path)])
    for damaged in ('{"kind"', "[]", '{"trainer": 3}'):
        (tmp_path / "recipe.json").write_text(damaged)
        with pytest.raises(SystemExit):
            train.main([*SMALL, "--steps", "1", "--resume", "--out", str(tmp_path)])
        assert "recipe.json cannot be read as a recipe" in capsys.readouterr().err


def test_full_disk_while_tokenizing_is_said_with_the_folder(tmp_path, capsys, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("course_pkg.recipes.data.write_token_file", full)
    with pytest.raises(SystemExit):
        train.main([*SMALL, "--out", str(tmp_path)])
    assert f"{tmp_path / 'tokens'} could not be filled with tokens" in capsys.readouterr().err


def test_tokens_of_another_vocabulary_are_not_taken_for_ours(tmp_path, capsys):
    train.main([*SMALL, "--steps", "1", "--out", str(tmp_path)])
    for path in tmp_path.glob("step-*"):
        shutil.rmtree(path)
    with pytest.raises(SystemExit):
        train.main([*SMALL, "--vocab-size", "30", "--out", str(tmp_path)])
    assert "tokens of vocab_size 1024, not 30" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--seed", "-1"], "seed is -1; it must be at least 0"),
        (["--seed", str(2**63)], "it must be below 2**63"),
        (["--device", "tpu"], "device is 'tpu'; it must be one of"),
        (["--dropout", "1.5"], "dropout is 1.5; it must be at least 0 and below 1"),
        (["--lr", "nan"], "lr is nan"),
        (["--lr", "inf"], "lr is inf"),
        (["--batch-size", "0"], "batch_size is 0"),
        (["--n-accumulate", "0"], "n_accumulate is 0"),
        (["--corpus", "voynich"], "name is 'voynich'; the corpora are stories"),
        (["--context-length", "0"], "context_length is 0"),
        (["--device", "cuda"], "torch finds no NVIDIA GPU here"),
    ],
)
def test_what_cannot_be_trained_is_said_in_one_line(tmp_path, capsys, options, message):
    if "cuda" in options and torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(SystemExit) as stop:
        train.main([*SMALL, *options, "--out", str(tmp_path)])
    assert stop.value.code == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("corpus", ["sst2", "voynich"])
def test_translations_are_asked_of_a_corpus_that_has_some(tmp_path, capsys, corpus):
    with pytest.raises(SystemExit):
        train.main(["seq2seq", "--corpus", corpus, "--device", "cpu", "--out", str(tmp_path)])
    said = capsys.readouterr().err
    assert f"corpus is '{corpus}'" in said
    assert "the corpora of translations are translations, multi30k_de" in said


@pytest.mark.slow
def test_killed_run_resumes_exactly(tmp_path):
    command = [*SMALL, "--steps", "60", "--out"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}

    def start(name, *options, kill_at=None):
        """Train in a process of its own, which kills itself once it has noted an update."""
        program = (
            "import os, signal; from course_pkg import train; note = train.Trainer._note_updates\n"
            "def noted(trainer):\n"
            "    shown = note(trainer)\n"
            f"    if trainer.run.step == {kill_at}: os.kill(os.getpid(), signal.SIGKILL)\n"
            "    return shown\n"
            "train.Trainer._note_updates = noted\n"
            f"train.main({[*command, str(tmp_path / name), *options]!r})"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (0 if kill_at is None else -signal.SIGKILL), done.stderr

    start("straight")
    start("killed", kill_at=42)
    start("killed", "--resume")
    assert losses(tmp_path / "killed") == losses(tmp_path / "straight")


@pytest.mark.slow
def test_two_processes_train_together(tmp_path):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", "2", "-m", "course_pkg.train", *SMALL, "--out", str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "on 2 x CPU" in run.stdout
    assert load_model(tmp_path / "model").kind == "gpt"
    assert [entry["step"] for entry in log(tmp_path) if "loss" in entry] == list(range(1, 13))

"""A long pretraining in small: its text, its interruptions, its end, and what it is measured by."""

import fcntl
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.chapters import continuations
from benchmarks.chapters.continuations import PROMPT
from benchmarks.weights import pretraining, pretraining_text
from benchmarks.weights.pretraining import Settings, has_stalled, settings_of
from course_pkg.models.ngram import NGram
from course_pkg.text.corpora import load_corpus
from course_pkg.training.checkpoint import list_checkpoints, load_checkpoint
from course_pkg.training.lock import LOCK_FILE
from course_pkg.weights.model_folders import load_model

TINY = {"vocab_size": 300, "context_length": 12, "d_model": 16, "n_heads": 2, "n_layers": 1}
TINY |= {"d_ff": 24, "batch_size": 3, "n_warmup": 2, "precision": "float32", "dropout": 0.1}
TINY |= {"log_every": 1, "evaluate_every": 2, "checkpoint_every": 2}


@pytest.fixture(scope="module")
def shelves():
    """Two kinds of text that are always there, in place of the ones that need files."""
    reference = load_corpus("reference")
    everyone = load_corpus("names").train
    names = [" ".join(everyone[i::50][:40]) for i in range(15)]
    return {
        "reference": ([t[:700] for t in reference.train[:9]], reference.valid, reference.test[:2]),
        "names": (names[:9], names[9:12], names[12:]),
    }


@pytest.fixture(autouse=True)
def two_shelves(monkeypatch, shelves):
    monkeypatch.setattr(pretraining_text, "load_shelves", lambda *_: shelves)
    monkeypatch.setattr(pretraining_text, "MIXTURES", {"eighth": (8, {"reference": 1, "names": 3})})
    monkeypatch.setattr(pretraining_text, "N_CHARACTERS", 400)
    monkeypatch.setattr(pretraining_text, "STORIES", "names")
    monkeypatch.setattr(continuations, "N_TOKENS", 6)
    return shelves


def command(step: str, out: Path, **changes) -> None:
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in changes.items()]
    pretraining.main([step, "--out", str(out), *flags])


def weights(checkpoint: Path) -> torch.Tensor:
    return torch.cat([w.flatten() for w in load_checkpoint(checkpoint).weights.values()])


def test_tokens_are_the_documents_of_each_kind_and_what_is_held_out_is_not_among_them(
    tmp_path, two_shelves
):
    text = pretraining_text.prepare_text(tmp_path, 300)
    eos = text.tokenizer.eos_id
    for (first, end, n_times), (name, (train, valid, _)) in zip(
        text.parts, two_shelves.items(), strict=True
    ):
        ids = text.ids[slice(first, end)].tolist()
        assert [ids[0], ids[-1], ids.count(eos)] == [eos, eos, len(train) + 1]
        assert text.tokenizer.decode(ids) == "".join(train)
        assert n_times == pretraining_text.MIXTURES["eighth"][1][name]
        documents, n_bytes = text.held_out[name]
        shown = "".join(map(text.tokenizer.decode, documents))
        assert "".join(valid).startswith(shown)
        assert len(shown) == 400 and n_bytes == len(shown.encode())
    assert end == len(text.ids) == text.about["n_train_tokens"]
    with pytest.raises(ValueError, match="has 300 tokens; vocab_size is 400"):
        pretraining_text.prepare_text(tmp_path, 400)


def test_counted_model_learns_from_every_document_once(tmp_path, two_shelves):
    text = pretraining_text.prepare_text(tmp_path, 300)
    documents = [text.tokenizer.encode(t) for train, _, _ in two_shelves.values() for t in train]
    order, size = pretraining_text.ORDER, text.tokenizer.vocab_size
    expected = NGram.fit(documents, order, size, text.tokenizer.eos_id)
    for ours, oracle in zip(
        pretraining_text.counted(text).log_probs, expected.log_probs, strict=True
    ):
        np.testing.assert_array_equal(ours, oracle)


class KilledError(Exception):
    """Stands for a signal that no program can answer."""


def test_training_that_is_killed_resumes_exactly(tmp_path, monkeypatch):
    command("train", tmp_path / "unbroken", n_updates=7, **TINY)
    evaluations = []

    def killed(self, model, evaluate=pretraining.Watch.__call__):
        evaluations.append(self.trainer.run.step)
        if evaluations == [2, 4]:
            raise KilledError
        return evaluate(self, model)

    monkeypatch.setattr(pretraining.Watch, "__call__", killed)
    with pytest.raises(KilledError):
        command("train", tmp_path / "killed", n_updates=7, **TINY)
    log = tmp_path / "killed" / "stable" / "log.jsonl"
    log.write_text(log.read_text() + '{"step": 4, "valid')  # and in the middle of a line
    log.write_text(log.read_text() + "\n")
    command("train", tmp_path / "killed")
    assert evaluations == [2, 4, 4, 6, 7]
    ends = [list_checkpoints(tmp_path / name / "stable")[-1] for name in ("unbroken", "killed")]
    assert torch.equal(*map(weights, ends))
    curves = [pretraining.read_curve(end.parent) for end in ends]
    keys = ("step", "n_tokens", "valid_loss", "bits per byte, names", "sample")
    first, second = ([[entry[key] for key in keys] for entry in curve] for curve in curves)
    assert first == second
    assert [row[:2] for row in first] == [[n, n * 2 * 3 * 12] for n in (2, 4, 6, 7)]


def test_decay_ends_a_copy_and_leaves_the_run_to_go_on(tmp_path):
    command("train", tmp_path, n_updates=6, **TINY)
    (tmp_path / "settings.json").write_text(
        json.dumps(json.loads((tmp_path / "settings.json").read_text()) | {"n_updates": None})
    )
    before = weights(list_checkpoints(tmp_path / "stable")[-1])
    command("decay", tmp_path, updates=4)
    assert torch.equal(before, weights(list_checkpoints(tmp_path / "stable")[-1]))
    folder = tmp_path / "decay-000000006"
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    rates = [round(entry["lr"] / Settings.lr, 6) for entry in log if "lr" in entry]
    assert rates == [1.0, 0.5, 0.292893, 0.133975]  # 1 - sqrt(k / 4)
    model = load_model(folder / "model")
    assert model.model.config.positions == "rotary"
    final = load_checkpoint(list_checkpoints(folder)[-1])
    assert final.step == 10
    for name, weight in model.model.state_dict().items():
        assert torch.equal(weight, final.weights[name]), name


def test_comparison_is_on_the_whole_test_text_of_each_kind(tmp_path, two_shelves):
    command("train", tmp_path, n_updates=2, **TINY)
    command("compare", tmp_path, record=tmp_path / "record.json")
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["weights"], record["before"]) == ("stable", None)
    assert record["gpt"]["test"].keys() == record["ngram"]["test"].keys() == two_shelves.keys()
    for model in ("gpt", "ngram"):
        assert len(record[model]["stories"]) == pretraining.N_SHOWN
        assert all(PROMPT.startswith(text[: len(PROMPT)]) for text in record[model]["stories"])
    model = load_model(tmp_path / "stable" / "model")
    model.model.requires_grad_(False)
    nats = 0.0
    for name in two_shelves["names"][2]:
        eos = model.tokenizer.eos_id
        ids = torch.tensor([eos, *model.tokenizer.encode(name), eos])
        for t in range(1, len(ids)):  # as far back as the overlapping windows let it see
            window = 0 if t <= 12 else (math.ceil((t - 12) / 6)) * 6
            logits = model.model(ids[window:t][None])[0][0, -1]
            nats -= float(logits.log_softmax(-1)[ids[t]])
    n_bytes = sum(len(name.encode()) for name in two_shelves["names"][2])
    ours = record["gpt"]["test"]["names"]
    assert ours == pytest.approx(nats / math.log(2) / n_bytes, rel=1e-5)  # float32 sums


@pytest.fixture
def longer(tmp_path, monkeypatch):
    """A run that goes on from another one's model, decayed; ready to be shipped elsewhere."""
    command("train", tmp_path / "first", n_updates=2, **TINY)
    begun = tmp_path / "first" / "stable" / "model"
    flags = {"begin_with": begun, "optimizer": "muon", "lr": 0.01, "n_updates": 4}
    same = {n: TINY[n] for n in ("batch_size", "n_warmup", "precision", "log_every")}
    same |= {n: TINY[n] for n in ("evaluate_every", "checkpoint_every")}
    command("train", tmp_path / "longer", **flags, **same)
    monkeypatch.setattr(pretraining, "CHECKPOINTS", tmp_path / "checkpoints")
    return begun, tmp_path / "longer"


def test_run_can_go_on_from_a_model_with_its_sizes_and_its_tokens(longer):
    begun, out = longer
    first, settings = load_model(begun), settings_of(out, {})
    assert settings.structure() == json.loads((begun / "config.json").read_text())["structure"]
    assert (settings.d_model, settings.context_length) == (16, 12)
    assert (out / "text" / "tokenizer.json").read_text() == (begun / "tokenizer.json").read_text()
    start = load_checkpoint(out / "stable" / "step-000000002").weights
    for name, weight in first.model.state_dict().items():  # two updates at a rate of 0.01 at most
        assert torch.allclose(start[name], weight, atol=0.05), name
    assert json.loads((out / "settings.json").read_text())["optimizer"] == "muon"


def test_shipped_model_has_card_history_and_the_commands_that_repeat_it(longer, monkeypatch):
    begun, out = longer
    record = out / "record.json"
    with pytest.raises(SystemExit, match="no decayed weights; lower the rate"):
        command("ship", out, record=record)
    command("decay", out, updates=4)
    command("ship", out, record=record, machine="an abacus")
    shipped = load_model(pretraining.CHECKPOINTS / "gpt-small")
    means = json.loads((out / "decay-000000004" / "mixtures.json").read_text())
    assert {one["share"] for one in means} == set(pretraining.SHARES)
    share = means[0]["share"]  # no other one is better, of those that lose on no kind of text
    fit = [one["valid_loss"] for one in means if not one["n_worse"]]
    assert means[0]["valid_loss"] == min(fit or [one["valid_loss"] for one in means])
    last = load_model(out / "decay-000000004" / "model").model.state_dict()
    for name, first in load_model(begun).model.state_dict().items():
        mean = (1 - share) * first + share * last[name]
        # Halves keep eleven bits; a mean that lies between two of them may go either way.
        torch.testing.assert_close(
            shipped.model.state_dict()[name], mean.half().float(), rtol=1e-3, atol=1e-6
        )
    for fact in ("an abacus", "8 updates", "Muon", "0.01", "sha256", "CC BY-SA 4.0", "| names |"):
        assert fact in shipped.card
    assert str(out) not in shipped.card  # it travels; the folder it was made in does not
    found = json.loads(record.read_text())
    assert found["before"]["test"]["names"] > found["gpt"]["test"]["names"]
    history = json.loads((pretraining.CHECKPOINTS / "gpt-small" / "history.json").read_text())
    assert [entry["step"] for entry in history][-1] == 8
    lines = [line for line in shipped.card.splitlines() if line.startswith("python -m")]
    assert "benchmarks.weights.pretraining train" in lines[1] and "--optimizer muon" in lines[1]
    changed = dict(pair.split() for pair in lines[1].split(" --")[2:])
    settings = settings_of(out, {})
    for name, value in changed.items():
        if name not in ("begin-with", "n-updates"):
            assert str(getattr(settings, name.replace("-", "_"))) == value


def test_card_of_a_third_run_keeps_the_runs_before_it(longer):
    _, out = longer
    command("decay", out, updates=4)
    command("ship", out, record=out / "record.json", machine="an abacus")
    folder = pretraining.CHECKPOINTS / "gpt-small"
    second = (folder / "card.md").read_text()
    runs = pretraining.earlier_runs(second)
    titles = [line for line in runs.splitlines() if line.startswith("#")]
    assert [title.split()[1:3] for title in titles] == [
        ["First", "run:"], ["Second", "run:"], ["Third", "run:"],
    ]  # fmt: skip
    data = pretraining.card_section(second, "Data")
    own_training = runs.split("### ")[2]
    assert data in own_training and "an abacus" in own_training and "python -m" not in runs
    (out / "third").mkdir()
    again = settings_of(out / "third", {"begin_with": str(folder), "lr": 0.5})
    lines = pretraining.commands(again, 30, 10, second)
    assert lines[:-3] == [line for line in second.splitlines() if line.startswith("python -m")]
    assert "--begin-with course_pkg/checkpoints/gpt-small --lr 0.5" in lines[-3]
    assert lines[-3].endswith("--n-updates 30") and lines[-2].endswith("--updates 10")
    for run in ("with tales", "with more tales"):
        history = pretraining.joined_history(folder, [{"step": 40}])
        assert history[-1] == {"step": history[-2]["step"] + 40, "run": run}
        (folder / "history.json").write_text(json.dumps(history))


def test_model_that_predicts_some_text_no_better_is_not_shipped(longer, monkeypatch):
    _, out = longer
    command("decay", out, updates=4)
    before = pretraining.before

    def as_good(*arguments):
        return before(*arguments) | {"test": {"reference": 99.0, "names": 0.01}}

    monkeypatch.setattr(pretraining, "before", as_good)
    with pytest.raises(SystemExit, match="began with predicts names as well"):
        command("ship", out, record=out / "record.json")
    assert not pretraining.CHECKPOINTS.exists()


def test_run_ends_when_ten_evaluations_gain_nothing(tmp_path, monkeypatch):
    falling = [5.0 - 0.01 * i for i in range(30)]
    assert not has_stalled(falling)
    assert not has_stalled([*falling, *[4.72] * 9])
    assert has_stalled([*falling, *[4.72] * 10])
    assert not has_stalled([5.0] * 10)  # too few to tell
    losses = iter([5.0, *[6.0] * 99])
    monkeypatch.setattr(pretraining, "bits_of", lambda *_: (next(losses), {"names": 1.0}))
    command("train", tmp_path, **TINY)
    # What stops the run is raised by its evaluation, before which the updates are saved.
    assert list_checkpoints(tmp_path / "stable")[-1].name == "step-000000022"


def test_folder_belongs_to_one_process_and_one_recipe(tmp_path):
    with (tmp_path / LOCK_FILE).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(SystemExit, match=r"error: .* another process"):
            command("train", tmp_path, **TINY)
    assert settings_of(tmp_path, {"lr": 0.25}).lr == 0.25
    assert settings_of(tmp_path, {}).lr == 0.25
    with pytest.raises(ValueError, match=r"begun with lr 0\.25, not 0\.5"):
        settings_of(tmp_path, {"lr": 0.5})


@pytest.mark.slow
@pytest.mark.shared_data
def test_held_out_text_shares_stock_phrases_only_with_the_training_text(shared_data, monkeypatch):
    monkeypatch.undo()  # the two kinds that stand in for all
    monkeypatch.setenv("COURSE_DATA", str(shared_data))

    def sequences(text: str, n: int = 13) -> set[tuple[str, ...]]:
        words = re.findall(r"[a-z0-9']+", text.lower())
        return {tuple(words[i : i + n]) for i in range(len(words) - n + 1)}

    shelves = pretraining_text.load_shelves("quarter")
    held_out = {
        name: set().union(*(sequences(text) for split in splits[1:] for text in split))
        for name, splits in shelves.items()
        if name != "stories"  # a grammar of 93 words repeats itself
    }
    every = set().union(*held_out.values())
    seen = {s for train, _, _ in shelves.values() for t in train for s in sequences(t) & every}
    for name, own in held_out.items():
        assert len(own & seen) / len(own) < 0.01, name

"""A BERT's second run in small: its text, its interruptions, what it is measured by, its card."""

import json
from itertools import pairwise

import pytest
import torch

from benchmarks.weights import pretrain, pretraining_bert, pretraining_text
from benchmarks.weights.pretrain import MASK_RATE, hidden_tokens
from benchmarks.weights.pretraining_bert import Settings, settings_of, text_of
from course_pkg import train
from course_pkg.models import IGNORE
from course_pkg.recipes import Recipe
from course_pkg.text.batches.pretraining import masked_batches
from course_pkg.text.corpora import load_corpus
from course_pkg.training.checkpoint import list_checkpoints, load_checkpoint
from course_pkg.weights.model_folders import load_model

SIZES = {"vocab_size": 300, "d_model": 16, "n_heads": 2, "n_layers": 1}
SIZES |= {"context_length": 24, "batch_size": 2, "n_steps": 2}
TINY = {"batch_size": 3, "lr": 0.01, "n_warmup": 2, "n_updates": 30, "n_decay": 10}
TINY |= {"precision": "float32", "evaluate_every": 10, "checkpoint_every": 10}


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """A BERT that has learned for two updates."""
    folder = tmp_path_factory.mktemp("begun") / "bert-small"
    recipe = Recipe.of("bert", "reference", "tiny", tokenizer="bpe", **SIZES)
    train.run(recipe, folder, torch.device("cpu"), resume=False, fast=False)
    return folder / "model"


@pytest.fixture(autouse=True)
def two_shelves(monkeypatch, tmp_path):
    """Two kinds of text that are always there, in place of the ones that need files."""
    reference = load_corpus("reference")
    names = [" ".join(load_corpus("names").train[i::50][:40]) for i in range(15)]
    shelves = {
        "reference": ([t[:700] for t in reference.train[:9]], reference.valid, reference.test[:2]),
        "names": (names[:9], names[9:12], names[12:]),
    }
    for module in (pretraining_text, pretraining_bert):
        monkeypatch.setattr(module, "load_shelves", lambda *_: shelves)
    monkeypatch.setattr(pretraining_text, "MIXTURES", {"eighth": (8, {"reference": 1, "names": 3})})
    monkeypatch.setattr(pretraining_bert, "TWICE", "reference")
    monkeypatch.setattr(pretraining_bert, "SMALL", "reference in small letters")
    monkeypatch.setattr(pretraining_bert, "CHECKPOINTS", tmp_path / "checkpoints")
    return shelves


def command(step, out, **changes):
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in changes.items()]
    pretraining_bert.main([step, "--out", str(out), *flags])


def test_epoch_holds_each_kind_as_often_as_it_is_read_and_one_in_small_letters(
    tmp_path, begun, two_shelves
):
    tokenizer = load_model(begun).tokenizer
    text = text_of(tmp_path, tokenizer)
    eos = [-1, *(text.ids == tokenizer.eos_id).nonzero().flatten().tolist(), len(text.ids)]
    documents = [tokenizer.decode(text.ids[a + 1 : b].tolist()) for a, b in pairwise(eos)]
    reference, names = (two_shelves[name][0] for name in ("reference", "names"))
    small = [text.lower() for text in reference]
    assert sorted(d for d in documents if d) == sorted([*reference, *names * 3, *small])
    held_out = text.held_out[pretraining_bert.SMALL]
    assert [tokenizer.decode(ids) for ids in held_out[0]] == [
        valid.lower() for valid in pretraining_text.excerpt(two_shelves["reference"][1], 30_000)
    ]
    again = text_of(tmp_path, tokenizer)
    assert torch.equal(text.ids, again.ids)
    assert again.held_out.keys() == text.held_out.keys()


class KilledError(Exception):
    """Stands for a signal that no program can answer."""


def test_training_that_is_killed_resumes_exactly(tmp_path, begun, monkeypatch):
    command("train", tmp_path / "unbroken", begin_with=begun, **TINY)
    evaluations = []

    def killed(self, model, evaluate=pretraining_bert.Watch.__call__):
        evaluations.append(self.trainer.run.step)
        if evaluations == [10, 20]:
            raise KilledError
        return evaluate(self, model)

    monkeypatch.setattr(pretraining_bert.Watch, "__call__", killed)
    with pytest.raises(KilledError):
        command("train", tmp_path / "killed", begin_with=begun, **TINY)
    command("train", tmp_path / "killed")
    assert evaluations == [10, 20, 20, 30]
    first, second = (
        load_checkpoint(list_checkpoints(tmp_path / name)[-1]).weights
        for name in ("unbroken", "killed")
    )
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_hidden_tokens_are_scored_as_by_torch(begun):
    trained = load_model(begun)
    tokenizer = trained.tokenizer
    ids = torch.tensor(tokenizer.encode(load_corpus("reference").test[0])[:300])
    batches = masked_batches(
        ids, 24, pretrain.N_ROWS, vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids, rate=MASK_RATE, seed=1,
    )  # fmt: skip
    nats, n_right, n_hidden = 0.0, 0, 0
    for batch in batches:
        with torch.no_grad():
            logits = trained.model(ids=batch["ids"]).logits.flatten(0, 1)
        targets = batch["targets"].flatten()
        nats += float(
            torch.nn.functional.cross_entropy(logits, targets, ignore_index=IGNORE, reduction="sum")
        )
        n_right += int((logits.argmax(-1) == targets).sum())
        n_hidden += int((targets != IGNORE).sum())
    found = hidden_tokens(trained, ids, MASK_RATE)
    assert found == (pytest.approx(nats, rel=1e-5), n_right, n_hidden)
    assert hidden_tokens(trained, ids, MASK_RATE) == found  # the same ones are hidden again
    assert hidden_tokens(trained, ids, MASK_RATE, n_batches=1)[2] < n_hidden


def test_shipped_model_has_card_history_and_the_commands_that_repeat_it(tmp_path, begun):
    out, record = tmp_path / "bert-tales", tmp_path / "record.json"
    command("train", out, begin_with=begun, **TINY)
    command("train", tmp_path / "short", begin_with=begun, **TINY | {"n_updates": 10, "n_decay": 5})
    command("ship", out, record=record, machine="an abacus", short=tmp_path / "short")
    shipped = load_model(pretraining_bert.CHECKPOINTS / "bert-small")
    for name, weight in load_model(out / "model").model.state_dict().items():
        assert torch.equal(shipped.model.state_dict()[name], weight.half().float()), name
    for fact in ("an abacus", "30 updates", "2 updates", "Adamw", "0.01", "CC BY-SA 4.0"):
        assert fact in shipped.card
    assert str(tmp_path) not in shipped.card  # it travels; the folder it was made in does not
    found = json.loads(record.read_text())
    assert str(tmp_path) not in record.read_text()
    assert [run["end"]["step"] for run in found["short runs"]] == [10]
    assert [entry["step"] for entry in found["curve"]] == [10, 20, 30]
    for name in ("reference", "names", "reference in small letters"):
        assert found["bert"][name]["nats"] < found["before"][name]["nats"]
        assert f"| {name} | {found['bert'][name]['nats']:.3f} |" in shipped.card
    lines = [line for line in shipped.card.splitlines() if line.startswith("python -m")]
    changed = dict(pair.split() for pair in lines[2].split(" --")[2:])
    settings = settings_of(out, {})
    for name, value in changed.items():
        if name != "begin-with":
            assert str(getattr(settings, name.replace("-", "_"))) == value
    assert {name.replace("-", "_") for name in changed} >= TINY.keys() - {"n_warmup"}


def test_model_that_restores_some_text_no_better_is_not_shipped(tmp_path, begun, monkeypatch):
    command("train", tmp_path / "run", begin_with=begun, **TINY)
    monkeypatch.setattr(
        pretraining_bert, "tested", lambda *_: {"names": {"nats": 1.0, "percent_right": 50.0}}
    )
    with pytest.raises(SystemExit, match="began with restores names as well"):
        command("ship", tmp_path / "run", record=tmp_path / "record.json")
    assert not pretraining_bert.CHECKPOINTS.exists()


def test_folder_belongs_to_one_recipe_and_needs_a_model_to_begin_with(tmp_path, begun):
    with pytest.raises(SystemExit, match=r"has no run; say with --begin-with"):
        command("train", tmp_path / "none")
    assert settings_of(tmp_path, {"begin_with": str(begun), "lr": 0.25}).lr == 0.25
    with pytest.raises(ValueError, match=r"begun with lr 0\.25, not 0\.5"):
        settings_of(tmp_path, {"lr": 0.5})
    assert Settings(begin_with="x").trainer().n_steps == Settings.n_updates


def test_shipped_card_repeats_the_recorded_run():
    record = json.loads(pretraining_bert.RECORD.read_text(encoding="utf-8"))
    card = load_model(pretrain.CHECKPOINTS / "bert-small").card
    assert pretraining_bert.table(record) in card
    assert f"{record['curve'][-1]['step']:,} updates" in card
    for name, value in record["settings"].items():
        if name != "begin_with" and value != getattr(Settings, name):
            assert f"--{name.replace('_', '-')} {value}" in card
    for now, before in zip(record["bert"].values(), record["before"].values(), strict=True):
        assert now["nats"] < before["nats"]

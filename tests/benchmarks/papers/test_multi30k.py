"""The ladder of translators: what is scored, what the baselines share, and a whole small run."""

import dataclasses
import json

import pytest
import torch

from benchmarks import records
from benchmarks.chapters.sequence_pairs import train_pairs, write
from benchmarks.papers import multi30k
from benchmarks.papers.multi30k import Setting, Translations
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.text.corpora.labelled_data import Parallel, Task
from course_pkg.text.stories.translation import sample_translations

TINY = Setting(8, 12, 1, 0.0, d_model=16, n_blocks=1, n_epochs=2, batch_size=32)


@pytest.fixture(scope="module")
def task() -> Task:
    """English and an invented language in the places of Multi30k's English and German."""
    pairs = [
        Parallel(" ".join(pair.source), " ".join(pair.target))
        for pair in sample_translations(150, seed=4)
    ]
    return Task("toy", "here", "none", "pairs", pairs[:120], pairs[120:130], pairs[130:])


def test_references_keep_rare_words_and_fold_case(task):
    strange = dataclasses.replace(task, test=[Parallel("A Zebra's T-shirt!", "Ein Zebra")])
    data = Translations.of(strange)
    assert data.references() == ["a zebra's t - shirt !"]
    (_, target), *_ = data.pairs("test")
    assert "<unk>" in data.read(target)


def test_attention_is_all_that_separates_two_rungs(task):
    makers = multi30k.baselines(TINY, Translations.of(task))
    without, attending = (
        dict(makers[n]().named_parameters()) for n in ("GRU", "GRU with attention")
    )
    assert attending.keys() - without.keys() == {"score.project.weight"}
    assert all(attending[name].shape == weight.shape for name, weight in without.items())


def test_climb_measures_the_rungs_that_are_asked_for(task):
    found = multi30k.run(task, TINY, only=["GRU with attention", "transformer"])
    assert list(found) == ["GRU with attention", "transformer"]
    for row in found.values():
        assert 0 <= row["greedy"] <= 100
        assert row["valid_loss_by_epoch"][1] < row["valid_loss_by_epoch"][0]


@pytest.fixture
def trained(task, monkeypatch):
    """Let the command run the toy task with tiny networks; return the sizes of those it trains."""
    trained = []

    def train(model, *arguments, **options):
        trained.append(sum(p.numel() for p in model.parameters()))
        return train_pairs(model, *arguments, **options)

    monkeypatch.setattr(multi30k, "QUICK", TINY)
    monkeypatch.setattr(multi30k, "load_task", lambda *_, **__: task)
    monkeypatch.setattr(multi30k, "train_pairs", train)
    return trained


def test_command_goes_on_from_its_record(trained, tmp_path, capsys):
    record = tmp_path / "ladder.json"
    multi30k.main(["--quick", "--record", str(record), "--only", "GRU"])
    first = json.loads(record.read_text())["baselines"]
    old = {**json.loads(record.read_text()), "date": "2001-02-03"}
    record.write_text(json.dumps(old))
    multi30k.main(["--quick", "--record", str(record), "--only", "GRU"])
    assert json.loads(record.read_text()) == old  # nothing was measured, so it keeps its date
    multi30k.main(["--quick", "--record", str(record), "--only", "GRU", "GRU with attention"])
    both = json.loads(record.read_text())["baselines"]
    assert list(both) == ["GRU", "GRU with attention"]
    assert len(trained) == 2
    assert both["GRU"] == first["GRU"]
    said = capsys.readouterr()
    assert f"GRU: taken from {record}" in said.err
    assert "attention is worth" in said.out


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "is no record"),
        ("[]", "is no record"),
        (
            '{"command": "python -m benchmarks.papers.multi30k"}',
            "is not a record of this benchmark",
        ),
        (None, "with another precision"),
    ],
)
def test_record_of_something_else_is_kept(content, complaint, trained, tmp_path, capsys):
    record = tmp_path / "ladder.json"
    about = records.provenance("python -m benchmarks.papers.multi30k", torch.device("cpu"))
    same = {"setting": dataclasses.asdict(TINY), "device": "cpu", "precision": "bfloat16"}
    before = content or json.dumps({"baselines": {}, **same, **about})
    record.write_text(before)
    with pytest.raises(SystemExit, match="2"):
        multi30k.main(["--quick", "--record", str(record)])
    assert complaint in capsys.readouterr().err
    assert (record.read_text(), trained) == (before, [])


@pytest.mark.parametrize("is_quick", [True, False])
def test_figures_set_an_aim_only_for_networks_of_the_published_size(is_quick):
    row = {"greedy": 29.0, "beam": 30.0}
    lines = multi30k.figures({"GRU with attention": row}, is_quick)
    ours = next(line for line in lines if line.subject == "GRU with attention, greedy")
    assert (ours.published, ours.aim) == (28.30, None if is_quick else 28.30)
    assert next(line for line in lines if line.subject == "convolution").ours is None


@pytest.mark.parametrize("n_beams", [1, 3])
def test_write_in_batches_equals_one_by_one_in_the_order_of_the_sources(n_beams):
    generator = torch.Generator().manual_seed(3)
    model = Seq2Seq(9, 7, 4, 6, eos_id=0, generator=generator).double().eval()
    for weight in model.parameters():  # a network that has learned says strong things
        weight.data *= 5
    sources = [[3, 8, 1, 5], [2], [7, 7, 4], [6, 1]]
    settings = {"eos_id": 0, "max_length": 5, "n_beams": n_beams}
    together = write(model, sources, batch_size=3, **settings)
    apart = [write(model, [source], **settings)[0] for source in sources]
    assert together == apart
    assert len({tuple(row) for row in together}) > 1

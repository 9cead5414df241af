"""The GPU day: its steps, its journal, and the whole plan on a CPU at a tiny size."""

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks import (
    figures,
    gpu_day,
    measured_page,
    multi30k,
    peers,
    pretrain,
    pronunciation,
    ptb_lstm,
    shakespeare,
)
from benchmarks.gpu_day import OUT_OF_TIME, Step
from benchmarks.side_by_side import Ratio
from course_pkg import train
from course_pkg.models.gpt import gpt_tiny
from course_pkg.text.corpora import Corpus
from course_pkg.text.corpora.labelled_data import Parallel, Task
from course_pkg.text.stories.translation import sample_translations

GOOD = Step("good", ("-c", "open('good', 'a').write('x')"))
BAD = Step("bad", ("-c", "raise SystemExit(3)"))
SLOW = Step("slow", ("-c", "import time; time.sleep(60)"))
# Half of it in the first turn; cut off, it goes on from the file.
LONG = Step(
    "long",
    (
        "-c",
        "import pathlib, time; p = pathlib.Path('half'); was = p.exists(); p.touch(); "
        "time.sleep(0 if was else 60)",
    ),
    goes_on=True,
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work in an empty folder; a step may begin with a second left."""
    monkeypatch.setattr(gpu_day, "ROOT", tmp_path)
    monkeypatch.setattr(gpu_day, "LEAST_SECONDS", 1)
    return tmp_path


def turns(journal: Path) -> list[tuple[str, str]]:
    lines = map(json.loads, journal.read_text().splitlines())
    return [(line["step"], line["outcome"]) for line in lines]


def test_what_is_done_is_not_done_again_and_a_failure_stops_nothing(here, capsys):
    journal = here / "runs" / "journal.jsonl"
    assert gpu_day.work([BAD, GOOD], journal, "cpu", 10) == 1
    assert turns(journal) == [("bad", "failed"), ("good", "done")]
    assert "failed: bad" in capsys.readouterr().out
    mended = replace(BAD, arguments=("-c", ""))
    assert gpu_day.work([mended, GOOD], journal, "cpu", 10) == 0
    assert (here / "good").read_text() == "x"
    entry = json.loads(journal.read_text().splitlines()[-1])
    assert entry["command"] == "python -c ''" and entry["date"] and entry["machine"]


def test_a_step_is_cut_off_in_time_and_goes_on_if_it_can(here, monkeypatch):
    monkeypatch.setattr(gpu_day, "MOST_SECONDS", 3)
    journal = here / "journal.jsonl"
    assert gpu_day.work([LONG, SLOW], journal, "cpu", 10) == 1
    assert turns(journal) == [("long", "cut off"), ("long", "done"), ("slow", "cut off")]


def test_no_step_begins_without_time_and_the_next_call_goes_on(here):
    journal = here / "journal.jsonl"
    assert gpu_day.work([GOOD], journal, "cpu", 0.001) == OUT_OF_TIME
    assert not journal.exists()
    assert gpu_day.work([GOOD], journal, "cpu", 1) == 0


def test_without_a_gpu_it_says_so(capsys):
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(SystemExit):
        gpu_day.main([])
    assert "torch finds no CUDA device" in capsys.readouterr().err


def test_list_shows_every_step_with_its_command(capsys):
    gpu_day.main(["--list"])
    shown = capsys.readouterr().out
    for step in gpu_day.plan("cuda"):
        assert step.command in shown
    assert "chapter recurrent" in shown and "ptb_lstm_medium" in shown and "train bert" in shown


PAGE = """\
---
kernelspec: {display_name: Python 3, language: python, name: python3}
---
```{code-cell}
SIZE = "small"
print(SIZE.upper())
```
"""


def toy_corpus(name, **_) -> Corpus:
    text = ["the cat sat on the mat . " * 8, "a dog ran off the mat . " * 8] * 6
    return Corpus(name, "here", "none", "animals", text, text[:3], text[3:6])


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """Every experiment of the plan at the size of a toy, its results in a folder of their own."""
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    for file in measured_page.RESULTS.glob("*.json"):
        (results / file.name).write_text(file.read_text())
    (tmp_path / "book" / "back").mkdir(parents=True)
    (tmp_path / "toy.md").write_text(PAGE)
    for module in (gpu_day, measured_page):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(measured_page, "RESULTS", results)
    monkeypatch.setattr(measured_page, "PAGE", tmp_path / "book" / "back" / "measured.md")
    monkeypatch.setattr(gpu_day, "CHAPTERS", tmp_path)
    monkeypatch.chdir(tmp_path)

    ratio = Ratio("an update", "plain torch", 1.0, 0.9, 1.1, 5.0, 5.0)
    monkeypatch.setattr(peers, "CONTESTS", {n: lambda *_: iter([ratio]) for n in peers.CONTESTS})
    monkeypatch.setattr(shakespeare, "load_corpus", toy_corpus)
    monkeypatch.setattr(shakespeare, "N_BATCHES", 4)
    setting = shakespeare.Setting(gpt_tiny(40, 8), 2, 150, 0.0, 2, 1.47)
    monkeypatch.setattr(shakespeare, "settings", lambda _: {"gpu": setting})
    monkeypatch.setattr(ptb_lstm, "load_corpus", toy_corpus)
    small = ptb_lstm.Setting(7, 4, 0.0, 0.3, 2, 1, 2.0, (9.0, 9.0))
    monkeypatch.setattr(ptb_lstm, "SETTINGS", {"medium": small})
    lexicon = {f"{a}{b}{a}": [(a.upper(), b.upper())] for a in "abcdefgh" for b in "aeiou"}
    monkeypatch.setattr(pronunciation, "load_lexicon", lambda: lexicon)
    quick = pronunciation.Setting(8, 12, 1, 0.0, 1, 16, 1e-3, 100.0)
    monkeypatch.setattr(pronunciation, "SETTINGS", {"gpu": quick})
    pairs = [
        Parallel(" ".join(pair.source), " ".join(pair.target))
        for pair in sample_translations(60, seed=4)
    ]
    task = Task("toy", "here", "none", "pairs", pairs[:48], pairs[48:54], pairs[54:])
    monkeypatch.setattr(multi30k, "load_task", lambda *_, **__: task)
    sizes = multi30k.Setting(8, 12, 1, 0.0, d_model=16, n_blocks=1, n_epochs=1, batch_size=16)
    monkeypatch.setattr(multi30k, "FULL", sizes)

    def train_tiny(arguments):
        at = arguments.index("--corpus")
        smaller = {"--corpus": "reference", "--size": "tiny", "--steps": "2"}
        words = [*arguments[:at], *arguments[at:]]
        for flag, value in smaller.items():
            words[len(words) - words[::-1].index(flag)] = value
        train_main([*words, "--vocab-size", "300"])

    train_main = train.main
    monkeypatch.setattr(pretrain.train, "main", train_tiny)

    def execute(step, seconds):
        """Run a step's own command line, in this process where it is one of our modules."""
        dash, module, *rest = step.arguments
        assert dash == "-m" and seconds > 0
        if module == "pytest":  # which tests there are; they need the device
            command = [sys.executable, "-m", "pytest", "--collect-only", *rest[:-1]]
            command.append("tests/course_pkg/layers/test_attention.py")
            return subprocess.run(command, cwd=Path(__file__).parents[2]).returncode
        if module == "benchmarks.measured_page":
            measured_page.main()
        else:
            importlib.import_module(module).main(rest)
        return 0

    monkeypatch.setattr(gpu_day, "execute", execute)
    return tmp_path


@pytest.mark.slow
def test_whole_plan_runs_on_a_cpu_at_a_tiny_size(tiny):
    steps, journal = gpu_day.plan("cpu"), tiny / "runs" / "gpu" / "journal.jsonl"
    assert gpu_day.work(steps, journal, "cpu", 30) == 0
    assert turns(journal) == [(step.name, "done") for step in steps]
    for name in ("peers_gpu", *figures.RUNS["cuda"]):
        record = json.loads((tiny / "benchmarks" / "results" / f"{name}.json").read_text())
        assert record["machine"] and record["date"] and record["command"], name
    executed = (tiny / "runs" / "gpu" / "chapters" / "toy.ipynb").read_text()
    assert '"LARGE\\n"' in executed
    for kind in ("gpt", "bert"):
        assert (tiny / "runs" / "gpu" / f"{kind}-small" / "model" / "config.json").exists()
    page = (tiny / "book" / "back" / "measured.md").read_text()
    assert "On a GPU" in page and measured_page.PUBLISHED["ptb_lstm_medium"] in page
    assert gpu_day.work(steps, journal, "cpu", 30) == 0
    assert len(turns(journal)) == len(steps)  # nothing was done twice

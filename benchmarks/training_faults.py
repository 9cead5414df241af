"""Kill a training run again and again, and compare what it becomes with a run left alone.

    python -m benchmarks.training_faults [--kills 50] [--record FILE]

A small GPT is trained by the command's own code. Its process is killed by SIGKILL at a random
moment, begun again with --resume, killed again, and so on; at last it is left to finish. Nothing
may tell the two runs apart afterwards: not the losses that were logged, not one bit of the weights.
"""

import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks.records import Recording, command_line
from course_pkg.recipes import Recipe
from course_pkg.train import run
from course_pkg.training.checkpoint import CheckpointError, list_checkpoints, load_checkpoint


def recipe(n_steps: int) -> Recipe:
    """Return a run that saves at every fourth update, dropout and all."""
    return Recipe.of(
        "gpt",
        "reference",
        "tiny",
        tokenizer="char",
        n_steps=n_steps,
        context_length=8,
        batch_size=2,
        dropout=0.1,
        log_every=2,
        checkpoint_every=4,
        evaluate_every=n_steps,
    )


def _train(folder: Path, n_steps: int) -> None:
    sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the process lives
    torch.set_num_threads(1)
    run(recipe(n_steps), folder, torch.device("cpu"), resume=True, fast=False)


def _start(folder: Path, n_steps: int) -> multiprocessing.Process:
    # Forked, not spawned: each start is spared the seconds that importing torch takes.
    process = multiprocessing.get_context("fork").Process(target=_train, args=(folder, n_steps))
    process.start()
    return process  # type: ignore[return-value]


def kill_often(folder: Path, n_kills: int, n_steps: int) -> dict[str, int]:
    """Kill a run until it has died `n_kills` times, then let it finish; return what was seen."""
    rng = random.Random(5)
    damaged = resumed_from_start = 0
    for _ in range(n_kills):
        before = list_checkpoints(folder)[-1:]
        process = _start(folder, n_steps)
        while process.is_alive() and list_checkpoints(folder)[-1:] == before:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.1))  # in the middle of anything, a checkpoint among it
        if not process.is_alive():
            raise RuntimeError("the run was done before it could be killed: give it more steps")
        os.kill(process.pid, signal.SIGKILL)  # type: ignore[arg-type]
        process.join()
        for path in list_checkpoints(folder):
            try:
                load_checkpoint(path)
            except CheckpointError as error:
                damaged += 1
                print(error, file=sys.stderr)
        resumed_from_start += not list_checkpoints(folder)
    final = _start(folder, n_steps)
    final.join()
    if final.exitcode != 0:
        raise RuntimeError(f"the run that was left to finish ended with code {final.exitcode}")
    return {
        "kills": n_kills,
        "damaged_checkpoints": damaged,
        "restarts_without_a_checkpoint": resumed_from_start,
    }


def losses(folder: Path) -> dict[int, set[float]]:
    """Return every loss that was logged for each update; a resumed run logs some of them again."""
    logged: dict[int, set[float]] = {}
    for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "loss" in entry:
            logged.setdefault(entry["step"], set()).add(entry["loss"])
    return logged


def measure(folder: Path, n_kills: int) -> dict[str, object]:
    """Train once undisturbed and once killed; return how they compare."""
    n_steps = 12 * n_kills  # a restart gets through four to eight updates
    straight = _start(folder / "straight", n_steps)
    straight.join()
    seen = kill_often(folder / "killed", n_kills, n_steps)
    whole, pieces = (
        load_checkpoint(list_checkpoints(folder / name)[-1]) for name in ("straight", "killed")
    )
    same = whole.weights.keys() == pieces.weights.keys() and all(
        torch.equal(pieces.weights[name], weight) for name, weight in whole.weights.items()
    )
    expected, found = losses(folder / "straight"), losses(folder / "killed")
    return {
        **seen,
        "updates": n_steps,
        "updates_logged": len(found),
        "losses_that_differ": sum(found.get(step) != loss for step, loss in expected.items()),
        "final_weights_equal_bit_for_bit": same and whole.step == pieces.step == n_steps,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what happened and, on request, record it."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--kills", type=int, default=50, help="[50]")
    recording = Recording(parser, arguments)
    torch.set_num_threads(1)
    recording.begin({})
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), recording.options.kills)
    print(json.dumps(figures, indent=2))
    recording.finish(figures)


if __name__ == "__main__":
    main()

"""Seed one-line faults over the tree's sources: does the everyday suite catch them?

    python -m benchmarks.suite.seeded_faults [--only FIRST LAST] [--log FILE] [--record FILE]

Each fault is tried in a copy of the last commit. First the everyday tests that speak most of what
the changed file defines run, up to the first failure; a failure counts if the same test passes
without the fault. What none of them catches gets the exhaustive tests of the same files, and is
named, to be read: it may change nothing that anybody can see. A process that uses up its seconds
counts as caught: the hosted workflow has a limit, too.

So the rates are of these tests, not of the whole suite: by it, more would be caught. The log has a
line for each fault: a run that was stopped goes on with those it lacks, and two may share one.
"""

import argparse
import ast
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from benchmarks.records import add_record_option, provenance, write_record
from benchmarks.suite.faults import Fault, draw_faults
from benchmarks.suite.trial import PRELOADED, ROOT, Outcome, Trial, trial

EVERYDAY = "not gpu and not browser and not exhaustive"
EXHAUSTIVE = "exhaustive and not gpu and not browser"
CAUGHT = {"failed", "endless"}


class NearTests:
    """Finds the test files that speak most of a source file."""

    def __init__(self, root: Path) -> None:
        listed = subprocess.run(
            ["git", "ls-files", "*/test_*.py", "tests/test_*.py"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        self._root = root
        self._words = {
            path: set(re.findall(r"\w+", (root / path).read_text(encoding="utf-8")))
            for path in listed.stdout.splitlines()
        }
        self._n_files = Counter(word for words in self._words.values() for word in words)

    def of(self, path: str, n_files: int) -> list[str]:
        """What pytest is given for a source file: the nearest test files, the nearest first.

        A name that it defines, or its own, brings a test file nearer the fewer others use it. The
        tests of its folder come after those, and its own examples before. A problem set has the
        tests beside it, and of those for all sets the cases that bear its name.
        """
        if path.startswith("assignments/ps"):
            name = path.split("/")[1]
            return [
                f"assignments/{name}/test_{name}.py",
                "tests/assignments/test_sets.py",
                "-k",
                name,
            ]
        text = (self._root / path).read_text(encoding="utf-8")
        names = {*_defined(ast.parse(text)), Path(path).stem}
        scores = {
            test: sum(1 / self._n_files[name] for name in names & words)
            + (Path(test).name == f"test_{Path(path).stem}.py")
            + 0.1 * (Path(path).parent.name in Path(test).parts)
            for test, words in self._words.items()
        }
        nearest = sorted((test for test in scores if scores[test]), key=lambda test: -scores[test])
        own = [path] if ">>> " in text and not path.startswith(("book", "assignments")) else []
        return own + nearest[:n_files]


def _defined(tree: ast.Module) -> Iterator[str]:
    """The names of functions, classes and methods that a module offers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


class Trials:
    """Tries faults one after the other; knows which tests fail without any."""

    def __init__(self, tried: Trial, seconds: float) -> None:
        self._trial, self._seconds = tried, seconds
        self._fails_anyway: dict[str, bool] = {}

    def caught(self, fault: Fault, tests: Sequence[str], marks: str) -> Outcome:
        """Run tests on a fault up to the first that fails because of it."""
        while True:
            left_out = [f"--deselect={test}" for test, bad in self._fails_anyway.items() if bad]
            outcome = self._trial.run(
                tests, ["-m", marks, *left_out], {fault.path: fault.text}, self._seconds
            )
            if outcome.end not in CAUGHT or not self._fails_without_fault(outcome.test):
                return outcome

    def _fails_without_fault(self, test: str) -> bool:
        if test not in self._fails_anyway:
            outcome = self._trial.run([test], seconds=self._seconds)
            self._fails_anyway[test] = outcome.end in CAUGHT
        return self._fails_anyway[test]


def summary(tried: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Count what became of the faults: each entry has its ends, "everyday" and "exhaustive"."""
    everyday = sum(one["everyday"]["end"] in CAUGHT for one in tried)
    endless = sum(one["everyday"]["end"] == "endless" for one in tried)
    later = sum(one["everyday"]["end"] not in CAUGHT and _late(one) for one in tried)
    return {
        "faults": len(tried),
        "caught_every_day": everyday,
        "endless_among_them": endless,
        "caught_only_by_exhaustive_tests": later,
        "caught_by_neither": len(tried) - everyday - later,
        "share_of_caught_that_is_caught_every_day": round(everyday / max(1, everyday + later), 3),
    }


def _late(one: dict[str, Any]) -> bool:
    return one["exhaustive"] is not None and one["exhaustive"]["end"] in CAUGHT


def _fate(one: dict[str, Any]) -> str:
    """How the tests ended that a fault was given, each suite's on its own."""
    ends = [one["everyday"], *filter(None, [one["exhaustive"]])]
    return "; ".join(f"{end['end']} {end['test']}".strip() for end in ends)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print each fault's fate and, on request, record them all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=200, help="to draw [200]")
    parser.add_argument(
        "--only", type=int, nargs=2, metavar=("FIRST", "LAST"), help="try these, counted from 1"
    )
    parser.add_argument("--skip", default="-", metavar="FOLDER", help="try none of those in it")
    parser.add_argument("--seed", type=int, default=34, help="[34]")
    parser.add_argument("--commit", default="HEAD", help="to change [HEAD]")
    parser.add_argument("--files", type=int, default=8, help="of tests, for each fault [8]")
    parser.add_argument(
        "--seconds", type=float, default=60, help="of processor time for each fault [60]"
    )
    parser.add_argument("--everyday-only", action="store_true", help="no exhaustive tests")
    parser.add_argument(
        "--log", type=Path, default=Path("seeded_faults.jsonl"), help="[seeded_faults.jsonl]"
    )
    add_record_option(parser, __file__)
    options = parser.parse_args(arguments)

    first, last = options.only or (1, options.faults)
    with (
        trial(ROOT, options.commit, PRELOADED) as copy,
        options.log.open("a", encoding="utf-8") as log,
    ):
        done = _read(options.log)
        drawn = draw_faults(copy.folder, max([last, *done]), options.seed)
        faults = dict(enumerate(drawn, 1))
        for number, entry in done.items():
            if (entry["path"], entry["after"]) != (faults[number].path, faults[number].after):
                raise ValueError(f"{options.log} has tried other faults; remove it to begin anew")
        near, trials = NearTests(copy.folder), Trials(copy, options.seconds)
        for number in range(first, last + 1):
            fault = faults[number]
            if number in done or fault.path.startswith(options.skip):
                continue
            tests = near.of(fault.path, options.files)
            everyday, late = trials.caught(fault, tests, EVERYDAY), None
            if everyday.end not in CAUGHT and not options.everyday_only:
                late = trials.caught(fault, tests, EXHAUSTIVE)
            done[number] = {
                "number": number,
                **{key: value for key, value in asdict(fault).items() if key != "text"},
                "everyday": asdict(everyday),
                "exhaustive": late and asdict(late),
            }
            print(json.dumps(done[number], ensure_ascii=False), file=log, flush=True)
            print(f"{number}  {everyday.end:10}  {fault.path}:{fault.line}  {everyday.test}")
            print(f"    {fault.before}\n    {fault.after}", flush=True)
    tried = [done[number] for number in sorted(done)]
    print(json.dumps(summary(tried), indent=2))
    if options.record:
        command = shlex.join(["python", "-m", "benchmarks.suite.seeded_faults", *sys.argv[1:]])
        where = {"commit": copy.commit, **provenance(command, torch.device("cpu"))}
        # Without the lines themselves: records ship with the package, and some are of solutions.
        fates = {f"{one['path']}:{one['line']}": _fate(one) for one in tried}
        write_record(options.record, {**where, **summary(tried), "fates": fates})


def _read(log: Path) -> dict[int, dict[str, Any]]:
    """What earlier runs have tried, by the fault's number."""
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return {entry["number"]: entry for entry in map(json.loads, lines)}


if __name__ == "__main__":
    main()

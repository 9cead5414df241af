"""Kill the grader, its workers and its sandboxes again and again: is anything lost or done twice?

    python benchmarks/grader/grading_faults.py [--kills 100] [--record FILE]

Runs the fault tests at full size: as many kills at random moments, over a class of 50. Each test
compares records, gradebook and pages with those of a run that nobody disturbed, submission by
submission, so what it counts is what was found equal. Takes hours of a slow machine.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.records import add_record_option, write_record  # noqa: E402

TESTS = "tests/autograder/class_run/test_faults.py"


def read_outcomes(report: Path) -> dict[str, dict[str, Any]]:
    """Return, for each test of a JUnit report, whether it held and what it has counted."""
    found = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        ended = next(
            (
                case.find(end)
                for end in ("failure", "error", "skipped")
                if case.find(end) is not None
            ),
            None,
        )
        counted = {one.get("name"): int(one.get("value", "")) for one in case.iter("property")}
        outcome = "held" if ended is None else f"{ended.tag}: {ended.get('message', '')[:300]}"
        found[case.get("name", "")] = {"outcome": outcome, **counted}
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what was found and, on request, record it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=100, help="of the grader; of its workers half")
    parser.add_argument("--only", default="", help="tests whose names contain this")
    add_record_option(parser, __file__)
    options = parser.parse_args(arguments)

    with tempfile.TemporaryDirectory(prefix="faults-") as scratch:
        report = Path(scratch) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", TESTS, "-k", options.only]
        command += [
            f"--junitxml={report}",
            f"--basetemp={scratch}/runs",
            "-o",
            "junit_family=xunit1",
        ]
        kills = {"AUTOGRADER_KILLS": str(options.kills)}
        subprocess.run(command, cwd=ROOT, env=os.environ | kills, check=False)
        outcomes = read_outcomes(report)
    if options.record:
        record = {
            "what": "graders, workers and sandboxes killed at random; each class compared with an "
            "undisturbed one",
            "command": f"python benchmarks/grader/grading_faults.py --kills {options.kills}",
            "date": datetime.now(UTC).date().isoformat(),
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, load "
            f"{os.getloadavg()[2]:.1f} (others' work included)",
            "python": platform.python_version(),
            "tests": outcomes,
        }
        write_record(options.record, record)
        print(f"recorded in {options.record}")
    sys.exit(any(test["outcome"] != "held" for test in outcomes.values()))


if __name__ == "__main__":
    main()

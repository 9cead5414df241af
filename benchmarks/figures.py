"""Record the figures that were published, one benchmark after another.

    COURSE_DATA=DIR python -m benchmarks.figures [--device cuda] [--only RECORD ...]

Writes the records in `course_pkg/results/benchmarks` and, from them, the book's page. On one core
this takes two hours; --only makes some of them. On a GPU only those run whose published figure
needs one, by the larger recipes. A benchmark that fails does not stop the others. Multi30k goes on
from its record: remove that to measure anew.
"""

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks import measured_page

RUNS = {
    "cpu": {
        "shakespeare_cpu": "papers.shakespeare",
        "names": "papers.names",
        "pronunciation": "papers.pronunciation --precision bfloat16",
        "movie_reviews": "papers.movie_reviews --model gpt-small --model bert-small",
        "ptb_lstm_small": "papers.ptb_lstm",
        "multi30k_quick": "papers.multi30k --quick --precision bfloat16",
    },
    "cuda": {
        "shakespeare_gpu": "papers.shakespeare --recipe gpu",
        "pronunciation_gpu": "papers.pronunciation --recipe gpu --precision bfloat16",
        "ptb_lstm_medium": "papers.ptb_lstm --size medium",
        "multi30k_gpu": "papers.multi30k --precision bfloat16",
    },
}
"""The module of each record and its arguments."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks; exit code 1 says that some failed, and which."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=RUNS, default="cpu", help="cpu or cuda [cpu]")
    parser.add_argument("--only", nargs="+", metavar="RECORD", help="some of the device's records")
    options = parser.parse_args(arguments)
    runs = RUNS[options.device]
    unknown = set(options.only or ()) - runs.keys()
    if unknown:
        parser.error(f"--only has {', '.join(sorted(unknown))}; there are {', '.join(runs)}")
    failed = []
    for number, name in enumerate(options.only or runs, 1):
        module, *rest = shlex.split(runs[name])
        record = (measured_page.RESULTS / f"{name}.json").relative_to(measured_page.ROOT)
        command = ["-m", f"benchmarks.{module}", *rest, "--device", options.device]
        command += ["--record", str(record)]
        print(f"\n[{number}/{len(options.only or runs)}] python {shlex.join(command)}", flush=True)
        started = time.perf_counter()
        done = subprocess.run([sys.executable, *command], cwd=measured_page.ROOT, check=False)
        print(f"{name}: {(time.perf_counter() - started) / 60:.1f} minutes", flush=True)
        if done.returncode:
            failed.append(name)
    measured_page.main()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()

"""Make every row of the book's running table again: recorded runs first, then the chapters.

    COURSE_DATA=DIR python -m benchmarks.running_table [--only CHAPTER ...]

A row is computed by the cells of its chapter or recorded by a script of this folder. Both write
their figures anew, and the table that is printed sets the old ones beside them; `git diff` shows
the same. What needs a corpus that does not ship is read from DIR, and keeps its figures, which is
said, where DIR does not have it. On one core all of it takes most of an hour.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_pkg.results import RECORD, Result, chapter_results

ROOT = Path(__file__).resolve().parents[1]
RECORDS = Path("course_pkg/results/benchmarks")

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Run:
    """A script whose record holds rows of a chapter.

    Attributes:
        script: module below this folder, and its arguments.
        needs: folder of COURSE_DATA that it reads; empty if all that it reads ships.
    """

    chapter: str
    script: str
    needs: str = ""


RUNS = {
    "ptb_ngram": Run("ngrams", "papers.ptb_ngram --data {data}", "ptb"),
    "window": Run("fixed_window", "chapters.window"),
    "recurrent": Run("recurrent", "chapters.recurrent"),
    "transformer_wikipedia": Run("transformer", "chapters.transformer wikipedia"),
    "transformer_tales": Run("transformer", "chapters.transformer tales", "tales"),
    "pretrained_rows": Run("gpt", "weights.pretrained_rows", "tales"),
    "fine_tuning": Run("fine_tuning", "chapters.fine_tuning"),
    "story_assistant": Run("assistants", "chapters.story_assistant"),
}
"""By the name of the record."""


def chapters() -> list[str]:
    """Return the chapters that have rows, in the order of the book."""
    names = (page.name.removeprefix("chapters/") for page in _pages())
    return [name for name in names if chapter_results(name)]


def run_scripts(chosen: Sequence[str], data: str) -> tuple[dict[str, str], list[str]]:
    """Run the scripts of some chapters.

    Returns:
        The records that are kept, each with the folder that is missing in `data`; and the records
        whose scripts failed.
    """
    kept, failed = {}, []
    for name, run in RUNS.items():
        if run.chapter not in chosen:
            continue
        if run.needs and not (data and Path(data, run.needs).exists()):
            kept[name] = run.needs
            continue
        words = shlex.split(run.script.format(data=shlex.quote(data)))
        command = ["-m", f"benchmarks.{words[0]}", *words[1:]]
        command += ["--record", str(RECORDS / f"{name}.json")]
        print(f"python {shlex.join(command)}", flush=True)
        if subprocess.run([sys.executable, *command], cwd=ROOT, check=False).returncode:
            failed.append(name)
    return kept, failed


def run_chapters(chosen: Sequence[str]) -> dict[str, str]:
    """Run all cells of some chapters, which write their rows; return the errors, by chapter."""
    pages = [page for page in _pages() if page.name.removeprefix("chapters/") in chosen]
    os.environ[RECORD] = "1"
    errors = {}
    with tempfile.TemporaryDirectory() as nothing_cached, Path(os.devnull).open("w") as log:
        for result in _execution().run_pages(pages, Path(nothing_cached), log):
            print(f"{result.page.name}: {result.seconds:.0f} s of CPU", flush=True)
            if result.error:
                errors[result.page.name.removeprefix("chapters/")] = result.error
    return errors


def compare(
    before: Mapping[Key, Result], after: Mapping[Key, Result], problems: Mapping[str, str]
) -> list[tuple[str, ...]]:
    """Return what became of each row: chapter, model, corpus, perplexity before and now, a remark.

    Args:
        problems: why a chapter's cells, or what is recorded for it, were not made again.
    """
    rows = []
    for key in dict.fromkeys((*before, *after)):
        old, new = before.get(key), after.get(key)
        remark = problems.get(key[0], "")
        if remark:
            pass
        elif old is None or new is None:
            remark = "new" if old is None else "gone"
        elif old.perplexity != new.perplexity:
            remark = f"{new.perplexity / old.perplexity - 1:+.2%}"
        numbers = ("–" if row is None else f"{row.perplexity:.4f}" for row in (old, new))
        rows.append((*key, *numbers, remark))
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Make rows again and print what became of them; exit code 1 says that something failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = chapters()
    parser.add_argument("--only", nargs="+", metavar="CHAPTER", help="the rows of some chapters")
    options = parser.parse_args(arguments)
    chosen = options.only or known
    if unknown := sorted(set(chosen) - set(known)):
        parser.error(f"--only has {', '.join(unknown)}; there are {', '.join(known)}")

    before = _rows(chosen)
    kept, failed = run_scripts(chosen, os.environ.get("COURSE_DATA", ""))
    errors = run_chapters(chosen)
    table = compare(before, _rows(chosen), dict.fromkeys(errors, "failed"))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(cells, widths, strict=True)))
    for name, folder in kept.items():
        print(
            f"{RUNS[name].chapter}: {name}.json is kept; to make it again, set COURSE_DATA to a "
            f"folder that has {folder}/"
        )
    for name, error in errors.items():
        print(f"\n{name}:\n{error}")
    if failed or errors:
        sys.exit(f"failed: {', '.join((*failed, *errors))}")


def _rows(chosen: Sequence[str]) -> dict[Key, Result]:
    return {row.key: row for name in chosen for row in chapter_results(name)}


def _execution():
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from coursebook import execution

    return execution


def _pages():
    return _execution().pages_with_cells(ROOT / "book")


if __name__ == "__main__":
    main()

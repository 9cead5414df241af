"""Build the book into _build/html: every cell runs, every warning is an error.

First the cells of all pages run, several pages side by side (`book/_ext/coursebook/execution.py`);
then Jupyter Book lays the pages out. What they say goes to `_build/cells.log` and `book.log` there.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

ROOT = Path(__file__).resolve().parent.parent
# Whatever a page may show or run: its text, the code behind it, and the packages below both.
INPUTS = ("book", "course_pkg", "assignments", "autograder", "benchmarks", "third_party")
INPUT_FILES = ("_config.yml", "pyproject.toml", "requirements.txt", "constraints.txt")
# By these a user's own settings and caches would reach the cells.
PERSONAL = ("XDG_", "JUPYTER_", "IPYTHON", "MPL", "COURSE_CACHE", "PYTHONSTARTUP")
LINES_SHOWN = 60
# What torch, MKL, oneDNN, OpenBLAS and NumPy read: they then use no newer instructions of x86-64.
PROCESSORS = {
    "avx2": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    },
    "sse": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
    },
}


@contextlib.contextmanager
def build_lock(output: Path) -> Iterator[None]:
    """Wait until no other build writes to the same place: two at once spoil each other's pages."""
    output.mkdir(parents=True, exist_ok=True)
    with (output / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build of this book is running; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield  # the lock goes with the process, however it ends


@contextlib.contextmanager
def clean_environment(output: Path) -> Iterator[None]:
    """Let the build see an empty home folder, so that it finds the same on every machine.

    A page must not come out differently where an earlier build, or the user, has left something.
    """
    for name in [name for name in os.environ if name.startswith(PERSONAL)]:
        del os.environ[name]
    # One thread: on a busy machine a small model is many times slower with two.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ["HOME"] = home
        # Matplotlib announces on the page that it lists the fonts, where that takes it long.
        os.environ["MPLCONFIGDIR"] = str(output / "matplotlib")
        subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True)
        yield


def quiet_progress(console: Console) -> Progress:
    """Return the display of what is being done; without a terminal it writes nothing at all."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=not console.is_interactive)


def run_cells(book: Path, output: Path, console: Console) -> bool:
    """Run the cells of all pages, show how long each took, and return whether all went well."""
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    from coursebook import cache, execution

    pages = execution.pages_with_cells(book)
    if not pages:
        return True
    width = max(len(page.name) for page in pages)
    results, log_file = [], output / "cells.log"
    with (
        quiet_progress(console) as progress,
        log_file.open("w", encoding="utf-8") as log,
    ):
        tasks = {}

        def started(page: execution.Page) -> None:
            tasks[page.name] = progress.add_task(
                f"{page.name:{width}} of {page.budget_seconds:.0f} s", total=None
            )

        folder = cache.current_folder(output)
        for result in execution.run_pages(pages, folder, log, started=started):
            results.append(result)
            if result.error:
                print(f"A cell of {result.page.name} failed:\n{result.error}", file=log, flush=True)
            if result.ran:
                progress.remove_task(tasks.pop(result.page.name))
                console.print(_line(result, width), highlight=False, soft_wrap=True)
    report = {result.page.name: result.row() for result in results}
    (output / "cells.json").write_text(json.dumps(report, indent=1, sort_keys=True))
    kept = sum(not result.ran for result in results)
    if kept:
        console.print(f"  {kept} of {len(results)} pages with cells have not changed")
    failed = [result for result in results if result.error]
    for result in failed:
        print(f"\nA cell of {result.page.name} failed:\n{result.error}")
    if failed:
        names = ", ".join(sorted(result.page.name for result in failed))
        print(f"\nThe book was not built: cells failed in {names}.")
        print(f"Their tracebacks, and what the kernels said: {log_file}")
    return not failed


def _line(result, width: int) -> str:
    budget = result.page.budget_seconds
    note = "failed" if result.error else "over budget" if result.seconds > budget else ""
    return f"  {result.page.name:{width}} {result.seconds:6.1f} s of {budget:.0f}  {note}".rstrip()


def lay_out(book: Path, output: Path, console: Console, *, every_page: bool) -> int:
    """Run Jupyter Book strictly and return its exit status."""
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(book)]
    command += ["--path-output", str(output.parent), "--config", str(ROOT / "_config.yml")]
    command += ["-n", "-W", "--keep-going", *(["--all"] if every_page else [])]
    log = output / "book.log"
    start = time.monotonic()
    with (
        quiet_progress(console) as progress,
        log.open("w+", encoding="utf-8") as lines,
    ):
        progress.add_task("laying out the pages", total=None)
        environment = {**os.environ, "NO_COLOR": "1"}
        done = subprocess.run(
            command, env=environment, stdout=lines, stderr=subprocess.PIPE, text=True
        )
        lines.write(done.stderr)
    if done.returncode:
        print(*done.stderr.splitlines()[-LINES_SHOWN:], sep="\n")
        print(f"\nThe book was not built. All that the builder said: {log}")
    else:
        console.print(f"  pages laid out in {time.monotonic() - start:.0f} s", highlight=False)
    return done.returncode


def digest_of_inputs(book: Path, output: Path) -> str:
    """Digest of all that goes into the book and of which files came out, to tell if either changed.

    Pages that the build itself generates are left out, since they follow from the rest.
    """
    digest = hashlib.sha256(sys.version.encode())
    files = [path for name in INPUTS for path in (ROOT / name).rglob("*")]
    files += [ROOT / name for name in INPUT_FILES]
    if book != ROOT / "book":
        files += book.rglob("*")
    for path in sorted(files):
        is_made = "__pycache__" in path.parts or path.is_relative_to(ROOT / "book" / "back" / "api")
        if path.is_file() and not is_made:
            digest.update(f"{path}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    for path in sorted((output / "html").rglob("*")):
        digest.update(f"{path}\0{path.stat().st_size if path.is_file() else 0}\0".encode())
    return digest.hexdigest()


def build(book: Path, output: Path, *, every_page: bool) -> int:
    """Build unless nothing has changed, and return the exit status."""
    console = Console()
    stamp = output / "built-from"
    done = stamp.read_text(encoding="utf-8") if stamp.exists() and not every_page else ""
    if done == digest_of_inputs(book, output):
        print("nothing has changed since the last build (--all builds all the same)")
        return 0
    stamp.unlink(missing_ok=True)
    with clean_environment(output):
        if not run_cells(book, output, console):
            return 1
        status = lay_out(book, output, console, every_page=every_page)
    if status == 0:
        stamp.write_text(digest_of_inputs(book, output), encoding="utf-8")
    return status


def run_as_on(processor: str, book: Path, output: Path) -> int:
    """Run the cells as on an older processor, in a folder of its own; return the exit status.

    A processor adds numbers up in its own order. What a model has learned after a thousand updates
    then differs as if by another seed, and a page may claim only what is true of both.
    """
    os.environ.update(PROCESSORS[processor])
    with build_lock(output / processor), clean_environment(output / processor):
        return 0 if run_cells(book, output / processor, Console()) else 1


def pack(output: Path) -> Path:
    """Zip the site; unpacked, it is read from the file system, search included.

    Weights that others trained stay out: pages from the file system may not fetch them anyway.
    """
    zipped = output / "language-models-by-hand.zip"
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((output / "html").rglob("*")):
            if path.suffix != ".gguf":
                archive.write(path, path.relative_to(output))
    return zipped


def main() -> int:
    """Parse the command line, build, and say where the book is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="write every page again")
    parser.add_argument("--zip", action="store_true", help="also pack the site for offline reading")
    parser.add_argument(
        "--processor",
        choices=PROCESSORS,
        help="only run the cells, as on an older x86-64 processor: do the claims hold there?",
    )
    parser.add_argument("--output", type=Path, default=ROOT, help="where _build goes")
    parser.add_argument("--book", type=Path, default=ROOT / "book", help=argparse.SUPPRESS)
    args = parser.parse_args()
    output = args.output.resolve() / "_build"
    if args.processor:
        return run_as_on(args.processor, args.book.resolve(), output)
    with build_lock(output):
        status = build(args.book.resolve(), output, every_page=args.all)
    if status == 0:
        print(f"the book: {output / 'html' / 'index.html'}")
        if args.zip:
            print(f"for reading offline: {pack(output)}")
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        os._exit(130)  # at once: threads would wait for their pages; kernels end with this process

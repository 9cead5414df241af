"""Build the book into _build/html: every cell runs, every warning is an error.

Jupyter Book does the work, and its extension `book/_ext/coursebook` prints how long each page's
cells took and the traceback of each cell that failed.
"""

import argparse
import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Whatever a page may show or run: its text, the code behind it, and the packages below both.
INPUTS = ("book", "course_pkg", "assignments", "autograder", "benchmarks", "third_party")
INPUT_FILES = ("_config.yml", "pyproject.toml", "requirements.txt", "constraints.txt")


@contextlib.contextmanager
def alone(output: Path) -> Iterator[None]:
    """Wait until no other build writes to the same place: two at once spoil each other's pages."""
    (output / "_build").mkdir(parents=True, exist_ok=True)
    with (output / "_build" / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another build of this book is running; waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield  # the lock goes with the process, however it ends


def build(book: Path, output: Path, *, every_page: bool) -> int:
    """Run Jupyter Book strictly and return its exit status."""
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(book)]
    command += ["--path-output", str(output), "--config", str(ROOT / "_config.yml")]
    command += ["-n", "-W", "--keep-going", *(["--all"] if every_page else [])]
    # One thread: on a busy machine a small model is many times slower with two.
    return subprocess.run(command, env={"OMP_NUM_THREADS": "1", **os.environ}).returncode


def state(book: Path, output: Path) -> str:
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
    for path in sorted((output / "_build" / "html").rglob("*")):
        digest.update(f"{path}\0{path.stat().st_size if path.is_file() else 0}\0".encode())
    return digest.hexdigest()


def pack(output: Path) -> Path:
    """Zip the site; unpacked, it is read from the file system, search included."""
    stem = output / "_build" / "language-models-by-hand"
    return Path(shutil.make_archive(str(stem), "zip", output / "_build", "html"))


def main() -> int:
    """Parse the command line, build, and say where the book is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="write every page again")
    parser.add_argument("--zip", action="store_true", help="also pack the site for offline reading")
    parser.add_argument("--output", type=Path, default=ROOT, help="where _build goes")
    parser.add_argument("--book", type=Path, default=ROOT / "book", help=argparse.SUPPRESS)
    args = parser.parse_args()
    stamp = args.output / "_build" / "built-from"
    with alone(args.output):
        done = stamp.read_text(encoding="utf-8") if stamp.exists() and not args.all else ""
        if done == state(args.book, args.output):
            print("nothing has changed since the last build (--all builds all the same)")
            status = 0
        else:
            stamp.unlink(missing_ok=True)
            status = build(args.book, args.output, every_page=args.all)
            if status == 0:
                stamp.write_text(state(args.book, args.output), encoding="utf-8")
    if status == 0:
        print(f"the book: {args.output / '_build' / 'html' / 'index.html'}")
        if args.zip:
            print(f"for reading offline: {pack(args.output)}")
    return status


if __name__ == "__main__":
    sys.exit(main())

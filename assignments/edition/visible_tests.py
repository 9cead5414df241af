"""Run the visible tests of the notebooks in work/, and say which of them pass.

    python visible_tests.py          each notebook in which you have written
    python visible_tests.py ps1      this one

Where this folder is a repository on GitHub, it runs there at each push, by
.github/workflows/visible-tests.yml. It ends with 1 if a test fails. The visible tests teach: that
they pass is no grade.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import DeadKernelError

from autograder.authoring.fingerprints import has_work
from autograder.authoring.notebooks import grading, is_autograded

WORK = Path(__file__).resolve().parent / "work"
SECONDS = 300
"""For one cell; one that takes longer is stopped, and has failed."""


def failures(path: Path) -> tuple[int, list[str]]:
    """Run a notebook from the top; return how many tests it has, and what the others said."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        interrupt_on_timeout=True,
        allow_errors=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    tests = [cell for cell in notebook.cells if is_autograded(cell)]
    try:
        client.execute()
    except DeadKernelError:
        return len(tests), [
            "the notebook's process has died: a cell took too much memory, or ended it"
        ]
    found = []
    for cell in tests:
        errors = [one for one in cell.outputs if one.output_type == "error"]
        for error in errors[:1]:
            said = next(iter(error.evalue.splitlines()), "")
            is_stub = error.ename == "NotImplementedError" and not said
            why = "not written yet" if is_stub else f"{error.ename}: {said}"
            line = f"{grading(cell)['grade_id']}: {why}"
            found.append("".join(c if c.isprintable() else " " for c in line)[:300])
    return len(tests), found


def main(names: list[str]) -> int:
    """Test the notebooks with these names, or all."""
    paths = sorted(WORK.glob("*/*.ipynb"))
    paths = [path for path in paths if path.stem == path.parent.name]
    unknown = set(names) - {path.stem for path in paths}
    for name in sorted(unknown):
        print(
            f"work/{name}/{name}.ipynb is not there; python work.py puts the notebooks into work/"
        )
    n_failed = 0
    for path in paths:
        if names and path.stem not in names:
            continue
        if not has_work(path.read_bytes()):
            print(f"{path.stem}: nothing written yet")
            continue
        n_tests, found = failures(path)
        print(f"{path.stem}: {max(n_tests - len(found), 0)} of {n_tests} visible tests pass")
        print("".join(f"  {line}\n" for line in found), end="", flush=True)
        n_failed += len(found)
    return 1 if n_failed or unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Leave out of the package's wheel what the notebooks of the problem sets do not use.

`make wheel` runs it: python .ci/notebook_wheel.py WHOLE.whl FOLDER. The sets load one of the two
pretrained models, and never the grader. tests/test_wheel.py holds the notebooks to what is left.
"""

import sys
import zipfile
from pathlib import Path

LEFT_OUT = ("autograder/", "course_pkg/checkpoints/bert-small/")
GRADERS_COMMAND = ".dist-info/entry_points.txt"


def is_left_out(name: str) -> bool:
    """Return whether a file of the wheel is of no use to the notebooks."""
    return name.startswith(LEFT_OUT) or name.endswith(GRADERS_COMMAND)


def make_notebook_wheel(whole: Path, folder: Path) -> Path:
    """Write the smaller wheel, of the same name, into a folder; the same bytes from the same wheel.

    Its list of files, RECORD, is shortened alike: an installer takes what is listed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    smaller = folder / whole.name
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(smaller, "w") as target:
        for entry in source.infolist():
            if is_left_out(entry.filename):
                continue
            content = source.read(entry)
            if entry.filename.endswith(".dist-info/RECORD"):
                lines = content.decode().splitlines(keepends=True)
                content = "".join(line for line in lines if not is_left_out(_name(line))).encode()
            target.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return smaller


def _name(line: str) -> str:
    """The file of a line of RECORD: before the last two commas, in quotes if it has one itself."""
    return line.rsplit(",", 2)[0].strip('"')


if __name__ == "__main__":
    made = make_notebook_wheel(Path(sys.argv[1]), Path(sys.argv[2]))
    print(f"{made.stat().st_size / 1e6:.1f} MB  {made}")

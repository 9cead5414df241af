"""Pack a problem set into the zip file that Gradescope calls an autograder.

    autograder.zip ─► setup.sh        once, when Gradescope builds its image
                  ─► run_autograder   for each submission: the same Grader, the same checks
                     grader.json  requirements.txt  autograder/  <course>/  <reference packages>/

What runs there is `autograder.lms.gradescope_run`. It is written for Gradescope's specification of
autograders: folders below /autograder, results/results.json, submission_metadata.json.
"""

import importlib.metadata
import io
import json
import re
import subprocess
import sys
import textwrap
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from autograder.authoring.course import SETTINGS, Course
from autograder.authoring.release import ReleasedSet
from autograder.authoring.secrets import given_away
from autograder.files import write_atomically
from autograder.handed_out import FOLDER
from autograder.records import GraderError
from autograder.store.journal import Journal

VISIBILITIES = ("after_due_date", "after_published", "visible", "hidden")
_HERE = Path(__file__).parents[1]
_MADE = (2020, 1, 1, 0, 0, 0)  # the same files give the same zip file
_ALWAYS = ("numpy", "ipython")  # the sandbox needs them, and nothing here has loaded them

_SETUP = """\
#!/usr/bin/env bash
# Gradescope runs this once, as root, when it builds the image. Choose an Ubuntu image: 24.04 or
# later has Python 3.12, 22.04 has 3.11.
set -euo pipefail
root="${GRADESCOPE_ROOT:-/autograder}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends bubblewrap
python=""
for version in 3.12 3.13 3.11; do
    if apt-get install -y -qq --no-install-recommends "python$version" "python$version-venv"; then
        python="python$version"
        break
    fi
done
[ -n "$python" ] || { echo "Python 3.11, 3.12 or 3.13 is needed: take a newer Ubuntu"; exit 1; }
"$python" -m venv "$root/venv"
"$root/venv/bin/pip" install --quiet --no-cache-dir -r "$root/source/requirements.txt"
chmod 700 "$root/source"  # the checks are nobody's but root's
export OMP_NUM_THREADS=1
cd "$root/source"
"$root/venv/bin/python" -m autograder.lms.gradescope_run --rehearse
"""
_RUN = """\
#!/usr/bin/env bash
# Gradescope runs this for each submission; it always leaves a results/results.json.
set -uo pipefail
export GRADESCOPE_ROOT="${GRADESCOPE_ROOT:-/autograder}"
export OMP_NUM_THREADS=1
cd "$GRADESCOPE_ROOT/source"
exec "${GRADESCOPE_PYTHON:-$GRADESCOPE_ROOT/venv/bin/python}" -m autograder.lms.gradescope_run
"""
# Run apart, so that only what grading itself loads is counted, and what students are given.
_LIST_LOADED = """
import json, sys
from pathlib import Path
from autograder.grading import grader, private_paths
from autograder.authoring.course import Course
from autograder.authoring.release import ReleasedSet
from autograder.handed_out import python_in
released = ReleasedSet(Course(Path(sys.argv[1])), sys.argv[2])
released.problem_set
cells = released.notebooks.student.cells
code = [cell.source for cell in cells if cell.cell_type == "code"]
given = private_paths.imported_packages([*code, *python_in(released.files)])
files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
names = {name.partition(".")[0] for name in sys.modules} | given
print(json.dumps({"files": [file for file in files if file], "modules": sorted(names)}))
"""


@dataclass(frozen=True)
class _Needs:
    """What grading a set loads, and what its released notebook imports.

    Attributes:
        files: of the course and of packages beside it.
        requirements: third-party packages, pinned as they are installed here.
    """

    files: tuple[Path, ...]
    requirements: tuple[str, ...]


def write_package(course: Course, name: str, out: Path, visibility: str = VISIBILITIES[0]) -> Path:
    """Write `gradescope/<set>/autograder.zip` below `out` and return its path.

    The secret from which each student's questions are drawn goes with it, so that a student is
    asked the same again after the package was renewed. So do the number of attempts and what
    students read of them before the due date, as course.toml has them.

    Args:
        visibility: when students see what an item earned, in Gradescope's words.

    Raises:
        GraderError: if there is no such set, its checks do not load, what it hands out gives away
            what it must not, something else than such a package stands in its place, or students
            would see what course.toml holds back.
    """
    if visibility not in VISIBILITIES:
        known = ", ".join(VISIBILITIES)
        raise GraderError(f"visibility is {visibility!r}; it must be one of {known}")
    course.problem_set(name)
    released = ReleasedSet(course, name)
    if complaints := given_away(released):  # student code reads them there
        raise GraderError(f"{name} is not packed: {'; '.join(complaints)}")
    policy = released.policy
    if visibility == "visible" and (policy.feedback != "full" or policy.feedback_delay):
        raise GraderError(
            f"visibility is 'visible', which shows everything at once, and {SETTINGS} limits what "
            f"students read of {name} before the due date: leave --visibility out"
        )
    path = out / "gradescope" / name / "autograder.zip"
    if path.exists() and not _is_package(path):
        raise GraderError(f"{path} is not a package for Gradescope: name another folder with --out")
    needs = _needs(course, name)
    journal = Journal(out, name)
    journal.make_salt()
    settings = {
        "course": course.folder.name,
        "problem_set": name,
        "salt": journal.salt(),
        "visibility": visibility,
        "attempts": policy.attempts,
        # Gradescope shows at once or on its own dates: what is to be delayed waits for these.
        "feedback": "nothing" if policy.feedback_delay else policy.feedback,
    }
    texts = {
        "setup.sh": _SETUP,
        "run_autograder": _RUN,
        "grader.json": json.dumps(settings, indent=1) + "\n",
        "requirements.txt": _requirements_text(needs.requirements),
    }
    write_atomically(path, _zipped(texts, dict(_files(course, name, needs))))
    return path


def _files(course: Course, name: str, needs: _Needs) -> Iterator[tuple[str, Path]]:
    """Name every file to be packed: the grader, the set, and the packages that its checks use."""
    root = course.folder.parent
    for path in _HERE.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            yield path.relative_to(_HERE.parent).as_posix(), path
    own = {course.source(name), *course.check_files(name), *course.folder.rglob("__init__.py")}
    packages = set()
    for path in needs.files:
        if path.is_relative_to(course.folder):
            own.add(path)
        elif path.parent != root:
            packages.add(root / path.relative_to(root).parts[0])
        else:
            own.add(path)
    packages.discard(_HERE)
    inside = {path for package in packages for path in package.rglob("*") if path.is_file()}
    asked_for = course.source(name).read_text(encoding="utf-8")
    given = {course.source(name).parent / FOLDER / one for one in ReleasedSet(course, name).files}
    for path in own | inside | given:
        # Weights are large; a set that needs a model names its folder, or hands it out.
        is_idle = path.suffix == ".safetensors" and path.parent.name not in asked_for
        is_idle &= path not in given
        if path.suffix != ".pyc" and not is_idle:
            yield path.relative_to(root).as_posix(), path


def _needs(course: Course, name: str) -> _Needs:
    root = course.folder.parent
    command = [sys.executable, "-c", _LIST_LOADED, str(course.folder), name]
    run = subprocess.run(command, capture_output=True, text=True, cwd=_HERE.parent)
    if run.returncode != 0:
        reason = run.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise GraderError(f"the checks of {name} do not load by themselves: {reason[0]}")
    loaded = json.loads(run.stdout.splitlines()[-1])
    # Some libraries make modules up and name files that do not exist.
    files = {path.resolve() for path in map(Path, loaded["files"]) if path.is_absolute()}
    installed = {Path(folder).resolve() for folder in sys.path if "-packages" in folder}
    beside = {path for path in files if path.is_relative_to(root) and path.is_file()}
    own = {path for path in beside if not any(map(path.is_relative_to, installed))}
    of_module = importlib.metadata.packages_distributions()
    packed = {path.relative_to(root).parts[0] for path in own} | {_HERE.name}
    foreign = set(loaded["modules"]) - packed
    packages = {package for module in foreign for package in of_module.get(module, ())}
    packages |= {*_ALWAYS, *_declared(root)}
    return _Needs(tuple(sorted(own)), tuple(sorted(set(_pinned(packages)))))


def _declared(root: Path) -> set[str]:
    """What the course's own project asks for, or in the extra `course`: notebooks import it."""
    try:
        project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    except (OSError, ValueError, KeyError):
        return set()
    extra = project.get("optional-dependencies", {}).get("course", ())
    names = (re.match(r"[\w.-]+", text) for text in (*project.get("dependencies", ()), *extra))
    return {name[0] for name in names if name}


def _pinned(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        try:
            distribution = importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError:
            continue
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        yield f"{name}=={distribution.version.partition('+')[0]}"


def _requirements_text(requirements: Iterable[str]) -> str:
    lines = "\n".join(requirements)
    return (
        textwrap.dedent(
            """\
        # What grading loads and students import, as it was installed where this package was made.
        --extra-index-url https://download.pytorch.org/whl/cpu
        """
        )
        + f"{lines}\n"
    )


def _is_package(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return {"run_autograder", "grader.json"} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def _zipped(texts: Mapping[str, str], files: Mapping[str, Path]) -> bytes:
    buffer = io.BytesIO()
    contents = {name: text.encode() for name, text in texts.items()}
    contents |= {name: path.read_bytes() for name, path in files.items() if name not in contents}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(contents):
            info = zipfile.ZipInfo(name, _MADE)
            info.compress_type = zipfile.ZIP_DEFLATED
            runnable = name in ("setup.sh", "run_autograder")
            info.external_attr = (0o100755 if runnable else 0o100644) << 16
            archive.writestr(info, contents[name])
    return buffer.getvalue()

"""The Pythons that are promised: every pin runs on them, and every page and script names them."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from course_pkg import doctor

ROOT = Path(__file__).parent.parent
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROMISED = [
    f"3.{minor}"
    for minor in range(30)
    if SpecifierSet(SETTINGS["project"]["requires-python"]).contains(f"3.{minor}.0")
]


def pins() -> list[Requirement]:
    """Return what is pinned, exactly, for everybody."""
    lines = [
        line.split("#")[0].strip()
        for name in ("requirements.txt", "constraints.txt")
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines()
    ]
    return [Requirement(line) for line in lines if line]


def refusals(required: str) -> list[str]:
    """Return the promised versions, from a line's very first to its last, that are not allowed."""
    versions = [f"{line}.{patch}" for line in PROMISED for patch in (0, 99)]
    return [version for version in versions if not SpecifierSet(required).contains(version)]


def test_a_pin_that_debians_own_python_may_not_install_is_found():
    assert refusals(">=3.11.5") == ["3.11.0"]  # as soupsieve 4.1.2; Debian 12 has Python 3.11.2
    assert refusals(">=3.9") == []


def test_every_pin_runs_on_every_python_that_is_promised():
    refused, seen = {}, 0
    for pin in pins():
        try:
            installed = metadata.distribution(pin.name)
        except metadata.PackageNotFoundError:  # wanted on other systems only
            continue
        assert pin.specifier.contains(installed.version), f"{pin} is not installed: make setup"
        seen += 1
        if found := refusals(installed.metadata.get("Requires-Python") or ""):
            refused[str(pin)] = found
    assert not refused
    assert seen > 150


def test_what_has_no_wheel_needs_no_compiler_anywhere():
    """Every other pin has wheels for Linux, Windows and Apple's processors."""
    for name in ("names", "rouge-score"):
        (tag,) = re.findall(r"^Tag: (.*)$", metadata.distribution(name).read_text("WHEEL"), re.M)
        assert tag == "py3-none-any", f"{name} was compiled here, so it would have to be everywhere"


@pytest.mark.parametrize("file", ["README.md", "Makefile", "autograder/lms/gradescope_package.py"])
def test_page_or_script_names_the_pythons_that_are_promised(file):
    names = f"{', '.join(PROMISED[:-1])} or {PROMISED[-1]}"
    assert f"Python {names}" in (ROOT / file).read_text(encoding="utf-8")


def test_make_and_gradescope_look_for_the_pythons_that_are_promised():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    searched = re.search(r"for p in (.+) python3;", makefile)[1].split()
    assert {f"python{version}" for version in PROMISED} == set(searched)
    bounds = re.search(r"not \((3, \d+)\) <= sys.version_info\[:2\] <= \((3, \d+)\)", makefile)
    assert [bound.replace(", ", ".") for bound in bounds.groups()] == [PROMISED[0], PROMISED[-1]]
    script = (ROOT / "autograder/lms/gradescope_package.py").read_text(encoding="utf-8")
    assert set(re.search(r"for version in (.+); do", script)[1].split()) == set(PROMISED)


def test_doctor_accepts_the_pythons_that_are_promised():
    assert [f"{major}.{minor}" for major, minor in doctor._PYTHONS] == PROMISED


def test_style_and_types_are_those_of_the_oldest_python():
    assert SETTINGS["tool"]["mypy"]["python_version"] == PROMISED[0]
    assert SETTINGS["tool"]["ruff"]["target-version"] == "py" + PROMISED[0].replace(".", "")


def test_hosted_workflow_runs_every_part_on_every_python_and_students_on_every_system():
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))["jobs"]
    laptop, part = (jobs[name]["strategy"]["matrix"] for name in ("laptop", "part"))
    assert laptop["python"] == part["python"] == PROMISED
    assert laptop["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert part["part"] == re.search(r"^PARTS +:= (.+)$", makefile, re.M)[1].split()
    for job in jobs.values():
        for command in (step.get("run", "") for step in job["steps"]):
            for target in re.findall(r"make (test-all|setup|lint|types)", command):
                assert re.search(rf"^(?:[\w-]+ )*{target}\b.*:", makefile, re.M), target
            for path in re.findall(r"\btests/[\w/.]+", command):
                assert (ROOT / path).exists(), path

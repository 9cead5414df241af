"""The package as files for hosted notebooks: the smaller one has all that the sets use."""

import ast
import runpy
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).parent.parent
TOOLS = runpy.run_path(str(ROOT / ".ci" / "notebook_wheel.py"))
_USE = """
import ast, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
for notebook in sorted(Path(sys.argv[2]).glob("ps*/notebook.py")):
    namespace = {"__name__": "__main__"}
    for node in ast.walk(ast.parse(notebook.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import | ast.ImportFrom):
            exec(ast.unparse(node), namespace)
            print(notebook)
import course_pkg
assert course_pkg.__file__.startswith(sys.argv[1]), course_pkg.__file__
assert course_pkg.load_pretrained("gpt-small").model.vocab_size > 0
try:
    course_pkg.load_pretrained("bert-small")
except ValueError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The wheel that `make wheel` makes."""
    if Version(version("setuptools")) < Version("77"):
        pytest.skip("setuptools 77 or newer builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    tree = folder / "tree"  # a copy: the build leaves files behind
    names = ["pyproject.toml", "README.md", "LICENSE", "course_pkg", "autograder"]
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", *names]
    tracked = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*pip, "-w", folder, tree], check=True)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def smaller(whole, tmp_path_factory):
    """The wheel for the notebooks of the sets."""
    return TOOLS["make_notebook_wheel"](whole, tmp_path_factory.mktemp("smaller"))


def test_wheel_for_the_sets_is_half_as_large_and_lists_what_it_has(whole, smaller):
    assert smaller.name == whole.name  # pip reads the name
    assert smaller.stat().st_size < 0.55 * whole.stat().st_size
    with zipfile.ZipFile(smaller) as wheel:
        names = wheel.namelist()
        (record,) = (name for name in names if name.endswith("RECORD"))
        listed = [line.rsplit(",", 2)[0] for line in wheel.read(record).decode().splitlines()]
    assert sorted(listed) == sorted(names)
    assert not any(name.startswith("autograder/") or "bert-small" in name for name in names)


def test_wheel_for_the_sets_has_all_that_their_notebooks_use(smaller, tmp_path):
    with zipfile.ZipFile(smaller) as wheel:
        wheel.extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-c", _USE, str(tmp_path), str(ROOT / "assignments")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *notebooks, refusal = done.stdout.splitlines()
    assert len(set(notebooks)) >= 8
    assert "'bert-small' is not in the package's file for problem sets" in refusal


def test_notebooks_of_the_sets_load_no_model_that_is_left_out():
    loaded = {
        argument.value
        for notebook in (ROOT / "assignments").glob("ps*/notebook.py")
        for node in ast.walk(ast.parse(notebook.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("load_pretrained")
        for argument in node.args
        if isinstance(argument, ast.Constant)
    }
    assert loaded == {"gpt-small"}

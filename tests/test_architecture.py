"""The walls of the house: who imports whom, what a file may be called, what each must say."""

import ast
import re
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import course_pkg

ROOT = Path(__file__).parent.parent
PACKAGES = ("course_pkg", "autograder", "assignments")
SOURCES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    # Problem sets are notebooks; answers to try stand as somebody wrote them.
    if path.name != "notebook.py" and "answers" not in path.parts
)


def public_definitions(tree: ast.Module) -> list[ast.AST]:
    """Return the public functions and classes of a module, and the classes' public methods."""
    found = []
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            found.append(node)
            if isinstance(node, ast.ClassDef):
                found += [
                    method
                    for method in node.body
                    if isinstance(method, ast.FunctionDef) and not method.name.startswith("_")
                ]
    return found


def test_imports_keep_the_contracts():
    """The contracts stand in pyproject.toml, under [tool.importlinter]."""
    command = "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"
    run = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_source_file_has_a_name_a_purpose_and_a_readable_length(path):
    assert path.stem not in {"utils", "util", "common", "helpers", "base", "misc"}
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens with one sentence of purpose"
    # An item's catalogue of wrong answers is data; it is as long as there are mistakes.
    if path.parent.parent.name != "assignments":
        assert len(text.splitlines()) <= 450, "does the house lack a room?"
    assert not re.search(r"\bch(apter)?_?\d", " ".join(n.name for n in public_definitions(tree)))


def test_models_do_not_inherit_from_each_other():
    classes = [
        node
        for path in (ROOT / "course_pkg" / "models").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    modules = {c.name for c in classes if "nn.Module" in {ast.unparse(b) for b in c.bases}}
    models = modules | {"NGram"}
    assert {"GPT", "BERT"} <= models
    for node in classes:
        assert not models & {ast.unparse(base) for base in node.bases}, node.name


def test_readme_names_only_commands_that_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, flags=re.MULTILINE))
    named = set(re.findall(r"(?:`|^)make ([a-z-]+)", readme, flags=re.MULTILINE))
    assert {"course", "test"} <= named <= targets


def test_readme_tree_names_only_places_that_exist():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?) \|", readme, flags=re.MULTILINE)
    assert rows
    for row in rows:
        first, *others = re.findall(r"`([^`]+)`", row)
        for place in (Path(first), *(Path(first).parent / other for other in others)):
            assert (ROOT / place).exists(), f"README names {place}"


def test_architecture_names_every_folder_of_the_grader_and_only_places_that_exist():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = (ROOT / "book/_assets/the-grader.svg").read_text(encoding="utf-8")
    folders = {path.parent.name for path in (ROOT / "autograder").glob("*/__init__.py")}
    assert {name for name in folders if f">{name}</text>" not in picture} == set()
    for place in re.findall(r"`((?:course_pkg|autograder|book|benchmarks|tests)/[\w/.-]*)`", text):
        assert (ROOT / place).exists(), f"ARCHITECTURE names {place}"


def test_version_and_date_are_the_same_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version, date = re.search(r"^## (\S+) \((\S+)\)$", changelog, flags=re.MULTILINE).groups()
    assert version == project["version"] == course_pkg.__version__
    assert f"version: {version}\ndate-released: {date}\n" in citation


def test_no_notebook_and_no_output_is_kept_in_git():
    files = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert [name for name in files if name.endswith((".ipynb", ".pyc", ".db"))] == []


def test_parts_that_are_kept_by_hand_are_there():
    """A row goes with its file: what is done by a library one day needs no excuse."""
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## By hand or by library")[2]
    rows = [row.split(" | ")[0] for row in section.splitlines() if row.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert len(rows) >= 20
    assert [name for name in named if not list(ROOT.glob(name))] == []


def imported_files(path: Path) -> set[Path]:
    """Return the files of ours that one imports anywhere, those within functions included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names] + [str(node.module)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {ROOT / f"{name.replace('.', '/')}.py" for name in names}
    return found


def test_no_files_import_each_other_in_a_circle():
    """Not within functions either: the contracts look at folders only."""
    files = {path for path in SOURCES if path.name != "__init__.py"}
    graph = {path: imported_files(path) & files for path in files}
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError, with the circle
    assert len(order) == len(files) > 200


def test_a_class_is_taken_through_its_stages_by_at_most_ten_other_modules():
    imported = imported_files(ROOT / "autograder" / "class_run" / "pipeline.py") & set(SOURCES)
    assert 1 < len(imported) <= 10, sorted(imported)


def test_package_has_at_most_four_loose_modules_at_its_root():
    loose = [path.stem for path in (ROOT / "course_pkg").glob("*.py") if path.stem[:2] != "__"]
    assert len(loose) <= 4, loose

"""`import course_pkg as lm`: every name there is, at the price of importing none of them."""

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import course_pkg as lm

ROOT = Path(__file__).parents[2]
IMPORT = re.compile(r"^ *from (course_pkg[\w.]*) import (\([^)]*\)|.+)$", re.MULTILINE)


def imports(text: str) -> list[tuple[str, str]]:
    """Return the pairs (module, name) that the cells of a page import from the package."""
    return [
        (found[1], name.split()[0])
        for found in IMPORT.finditer(text)
        for name in re.split(r",\s*", found[2].strip("() \n,"))
    ]


CHAPTERS = {
    path.stem: imports(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "book" / "chapters").glob("*.md"))
}


@pytest.mark.parametrize("name", lm.__all__)
def test_name_is_the_object_of_its_module(name):
    home = lm._MODULE_OF[name]
    assert name in dir(lm)
    if home == "course_pkg":
        assert getattr(lm, name) is importlib.import_module(f"course_pkg.{name}")
    else:
        assert getattr(lm, name) is getattr(importlib.import_module(home), name)


def test_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="no attribute 'GPT5'"):
        lm.GPT5  # noqa: B018


def test_missing_library_says_which_extra_brings_it():
    command = (
        "import sys; sys.modules['torch'] = None; import course_pkg as lm\n"
        "try: lm.GPT\nexcept ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True)
    assert done.stdout == "GPT needs torch: pip install 'language-models-by-hand[course]'\n"


def test_type_checkers_are_told_the_same_names():
    tree = ast.parse((ROOT / "course_pkg" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    imports = (node for node in block.body if isinstance(node, ast.ImportFrom))
    told = {alias.name: node.module for node in imports for alias in node.names}
    assert told == lm._MODULE_OF
    assert {"GPT", "load_corpus", "Trainer", "evaluate", "generate", "plots"} <= set(lm.__all__)


def test_importing_the_package_loads_neither_torch_nor_matplotlib():
    heavy = ["torch", "numpy", "matplotlib", "tokenizers", "regex"]
    program = f"import course_pkg, sys; print([m for m in {heavy} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("slug", CHAPTERS)
def test_chapter_takes_every_public_name_from_the_package_itself(slug):
    assert [
        (module, name)
        for module, name in CHAPTERS[slug]
        if name in lm.__all__ and module != "course_pkg"
    ] == []


def test_names_that_three_chapters_use_are_public():
    used = Counter(name for found in CHAPTERS.values() for name in {name for _, name in found})
    assert {name for name, n in used.items() if n >= 3} - set(lm.__all__) == set()


@pytest.mark.parametrize("page", ["README.md", "book/back/api/index.md"])
def test_readme_and_reference_show_names_that_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    names = set(re.findall(r"\blm\.(\w+)", text))
    assert "import course_pkg as lm" in text
    assert names and names <= set(lm.__all__)

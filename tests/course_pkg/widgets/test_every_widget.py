"""What holds for every interactive figure: it has a script, words for the blind, and a chapter."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

from course_pkg import widgets

ROOT = Path(__file__).parents[3]
FIGURES = {
    name: made
    for module in pkgutil.iter_modules(widgets.__path__, "course_pkg.widgets.")
    for name, made in vars(importlib.import_module(module.name)).items()
    if inspect.isfunction(made) and made.__module__ == module.name
    if not name.startswith("_") and inspect.signature(made).return_annotation is widgets.Widget
}
"""Each function that makes a figure, by its name."""


def test_figures_are_found():
    assert len(FIGURES) >= 20


@pytest.mark.parametrize("name", FIGURES)
class TestEveryWidget:
    def test_script_of_its_file_s_name_defines_the_element_that_it_writes(self, name):
        module = FIGURES[name].__module__
        (element,) = set(re.findall(r'"(lm-[a-z-]+)"', inspect.getsource(FIGURES[name])))
        script = ROOT / "book" / "_assets" / f"lm-{module.split('.')[-1].replace('_', '-')}.js"
        assert element == script.stem
        assert re.search(rf'customElements\.define\(\s*"{element}"', script.read_text())

    def test_it_is_described_and_can_be_taken_from_the_folder(self, name):
        assert getattr(widgets, name) is FIGURES[name]
        alt = inspect.signature(FIGURES[name]).parameters["alt"]
        assert alt.default is inspect.Parameter.empty, "who sees no figure needs its words"

    def test_a_chapter_shows_it(self, name):
        pages = (path.read_text() for path in (ROOT / "book").rglob("*.md"))
        assert any(re.search(rf"\b{name}\(", page) for page in pages)

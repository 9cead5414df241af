"""What every chapter has: its parts, in the same order, and the same words for the same things."""

import re
from pathlib import Path

import pytest
import yaml

from course_pkg.text.stories.grammar import StoryGrammar

FOLDER = Path(__file__).parents[2] / "book" / "chapters"
INDEX = (FOLDER.parent / "index.md").read_text(encoding="utf-8")
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}

PARTS = (
    "::::{div} lm-lead",
    "**You will learn**",
    "**Before this:**",
    "**Time:**",
    "## Check yourself",
    "## Exercises",
    "## Summary",
    "## The story so far",
    "## Further reading",
    "## What is missing",
)
SWITCH = 'SIZE = "small"  # "large": '
DEVICE = 'DEVICE = choose_device() if SIZE == "large" else "cpu"'

chapter = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)


@chapter
def test_chapter_has_its_parts_in_order(page):
    places = [page.index(f"\n{part}") for part in PARTS]
    assert places == sorted(places)
    assert page.count("```{quiz}") == 3


@chapter
def test_every_exercise_has_a_folded_solution(page):
    exercises = re.findall(r"^```+\{exercise\}.*\n:label: (\S+)", page, re.MULTILINE)
    solutions = re.findall(
        r"^```+\{solution(?:-start)?\} (\S+)\n:class: dropdown", page, re.MULTILINE
    )
    assert len(exercises) >= 5
    assert solutions == exercises
    efforts = re.findall(r"^★{1,3} · \d+ (?:minutes|hours)", page, re.MULTILINE)
    assert len(efforts) == len(exercises)


@chapter
def test_summary_has_at_most_seven_lines(page):
    summary = page[page.index("## Summary") : page.index("## The story so far")]
    lines = re.findall(r"^- .", summary, re.MULTILINE)
    assert 3 <= len(lines) <= 7
    assert not re.search(r"^\d+\. ", summary, re.MULTILINE)


@chapter
def test_switch_is_the_same_in_every_chapter_and_off(page):
    sizes = re.findall(r"^SIZE = .*$", page, re.MULTILINE)
    trains = "device=" in page
    assert len(sizes) <= 1 and all(line.startswith(SWITCH) for line in sizes)
    assert page.count(DEVICE) == page.count("DEVICE = ") == trains
    assert page.count('set `SIZE = "large"` in the cell that has it') == len(sizes)
    assert not trains or sizes


@chapter
def test_time_to_read_is_that_of_the_front_matter(page):
    stated = yaml.safe_load(page[4 : page.index("\n---\n", 4)])["chapter"]["minutes"]
    assert f"\n**Time:** {stated} minutes to read" in page


@chapter
def test_chapter_uses_the_words_that_it_defines(page):
    header, text = page[4:].split("\n---\n", maxsplit=1)
    text = text.casefold()
    for term in yaml.safe_load(header)["terms"]:
        stems = [word[:5] for word in re.findall(r"\w{3,}", term.casefold())]
        assert all(stem in text for stem in stems), f"{term!r} is not in the text"


def test_welcome_page_names_the_floor_of_the_stories():
    assert f"better than {StoryGrammar().floor_perplexity():.2f}" in INDEX

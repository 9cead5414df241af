"""What is imported back from a cartridge is the course; what the format forbids is refused."""

import io
import json
import re
import zipfile
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from click.testing import CliRunner
from lxml import etree

from autograder.cli import main as cli
from tests.autograder.conftest import make_toy_course

SCHEMA = Path(__file__).with_name("common_cartridge.rng").read_text(encoding="utf-8")
SETTINGS = """
time_zone = "Europe/Rome"
[assistants]
rule = "Ask <b>and</b> write yourself."
[book]
address = "https://lm.example.edu/book?a=1&b=2"
[sets.toy]
released = 2027-10-05 09:00:00
due = 2027-11-02 23:59:00
[syllabus]
title = "Toys & <games>"
first_day = 2027-10-04
[syllabus.weights]
sets = 100
[syllabus.chapters]
tops = "Tops & spin"
yoyos = "Yo-yos"
[syllabus.calendars.two]
rows = [["tops", "toy out"], ["yoyos"], ["a walk"]]
[syllabus.calendars.other]
rows = [["tops"]]
"""
RUBRIC = "# Rubrics\n\n## toy: toy_words (10 points)\n\n- 3: says *why*\n\n## pst: other\n"


def schema(version):
    """Return the schema of a version: what stands in `{1.3 ...}` is newer than 1.1."""
    newer = re.compile(r"\{1\.3 (.*?)\}(?=\s*<)", re.DOTALL)
    text = newer.sub(r"\1" if version == "1.3" else "", SCHEMA)
    text = text.replace("{p}", version.replace(".", "p")).replace("{version}", f"{version}.0")
    return etree.RelaxNG(etree.fromstring(text.encode()))


def imported(data, version):
    """Read a cartridge as a platform does: check the files, then follow the table of contents."""
    archive = zipfile.ZipFile(io.BytesIO(data))
    names = archive.namelist()
    assert names[0] == "imsmanifest.xml" and len(set(names)) == len(names)
    rules = schema(version)
    parsed = {n: etree.fromstring(archive.read(n)) for n in names if n.endswith(".xml")}
    for root in parsed.values():
        rules.assertValid(root)
    manifest = parsed["imsmanifest.xml"]
    listed = manifest.xpath("//*[local-name()='file']/@href")
    assert sorted(listed) == sorted(names[1:]), "each file is listed, once, and nothing else"
    ids = manifest.xpath("//@identifier")
    assert len(ids) == len(set(ids)), "identifiers are unique in the whole file"
    resources = {one.get("identifier"): one for one in manifest.iterfind(".//{*}resource")}
    modules = {}
    for module in manifest.find(".//{*}organization/{*}item").iterfind("{*}item"):
        items = modules[module.findtext("{*}title")] = []
        for item in module.iterfind("{*}item"):
            resource = resources[item.get("identifierref")]
            variant = resource.find("{*}variant")
            if variant is not None:
                resource = resources[variant.get("identifierref")]
            path = resource.find("{*}file").get("href")
            assert resource.get("href", path) == path
            kind = resource.get("type").partition("_")[0]
            content = parsed[path] if path in parsed else archive.read(path).decode()
            title = item.findtext("{*}title")
            items.append(SimpleNamespace(kind=kind, title=title, content=content))
    return manifest, modules


@pytest.fixture
def course(tmp_path):
    made = make_toy_course(tmp_path / "tree" / "assignments")
    (made.folder / "course.toml").write_text(SETTINGS)
    (made.folder / "rubrics.md").write_text(RUBRIC)
    return made


def make(course, *options):
    command = ["--course", str(course.folder), "cartridge", "--json", *options]
    result = CliRunner().invoke(cli.main, command)
    assert result.exit_code == 0, result.output
    return [Path(path).read_bytes() for path in json.loads(result.stdout)], result.stderr


def test_platform_gets_links_syllabus_and_assignments_with_points_and_dates(course):
    (data, _), _ = make(course)
    manifest, modules = imported(data, "1.3")
    assert manifest.findtext(".//{*}string") == "Toys & <games>"
    assert list(modules) == [
        "Start here",
        "Week 1 (Mon 04 Oct 2027)",
        "Week 2 (Mon 11 Oct 2027)",
    ]
    syllabus, book = modules["Start here"]
    assert syllabus.kind == "webcontent" and "Mon 04 Oct 2027" in syllabus.content
    assert book.content.find("{*}url").get("href").startswith("https://lm.example.edu/book?a=1&b=2")
    chapter, toy = modules["Week 1 (Mon 04 Oct 2027)"]
    assert chapter.kind == "imswl" and chapter.title == "1. Tops & spin"
    assert chapter.content.find("{*}url").get("href").endswith("chapters/tops.html")
    assert toy.kind == "assignment" and toy.title == "toy: Toy set"
    assert toy.content.find("{*}gradable").get("points_possible") == "100"
    canvas = {one.tag.rpartition("}")[2]: one.text for one in toy.content.find("{*}extensions")[0]}
    # Canvas reads UTC: summer time ends between these two.
    assert canvas["unlock_at"] == "2027-10-05T07:00:00"
    assert canvas["due_at"] == "2027-11-02T22:59:00"
    due = datetime.fromisoformat(canvas["due_at"] + "+00:00")
    assert due == datetime(2027, 11, 2, 23, 59, tzinfo=ZoneInfo("Europe/Rome"))
    assert float(canvas["points_possible"]) == 100 and canvas["workflow_state"] == "unpublished"
    assert "Due Tue 02 Nov 2027, 23:59 CET" in toy.content.findtext("{*}text")


def test_rubric_goes_to_instructors_and_nowhere_else(course):
    for data, version in zip(make(course)[0], ("1.3", "1.1"), strict=True):
        archive = zipfile.ZipFile(io.BytesIO(data))
        texts = {name: archive.read(name).decode() for name in archive.namelist()}
        having = [name for name, text in texts.items() if "says" in text]
        assert having == (["assignments/toy.xml"] if version == "1.3" else [])
    (data, _), _ = make(course)
    toy = imported(data, "1.3")[1]["Week 1 (Mon 04 Oct 2027)"][1].content
    assert "says <em>why</em>" in toy.findtext("{*}instructor_text")
    assert "says" not in toy.findtext("{*}text") and "other" not in toy.findtext(
        "{*}instructor_text"
    )


def test_moodle_gets_the_older_version_and_its_sets_as_pages(course):
    (_, data), _ = make(course)
    archive = zipfile.ZipFile(io.BytesIO(data))
    # Moodle recognises a cartridge by this, in the first 500 characters and without spaces.
    beginning = re.sub(r"[\s\"']", "", archive.read("imsmanifest.xml").decode()[:500])
    assert "xmlns=http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1" in beginning
    _, modules = imported(data, "1.1")
    toy = modules["Week 1 (Mon 04 Oct 2027)"][1]
    assert toy.kind == "webcontent" and "Due Tue 02 Nov 2027, 23:59 CET" in toy.content
    assert "Ask &lt;b&gt;and&lt;/b&gt; write yourself." in toy.content


def test_same_course_makes_the_same_bytes_and_another_calendar_other_weeks(course):
    assert make(course)[0] == make(course)[0]
    (data, _), said = make(course, "--calendar", "other")
    assert "not in calendar other, so left out: toy" in said
    assert list(imported(data, "1.3")[1]) == ["Start here", "Week 1 (Mon 04 Oct 2027)"]


def test_course_without_an_address_or_dates_says_what_is_missing(course):
    text = re.sub(r"(?m)^(address|due|released) = .*\n", "", SETTINGS)
    (course.folder / "course.toml").write_text(text)
    (data, _), said = make(course)
    assert "no links to the book" in said and "without a due date in course.toml: toy" in said
    _, modules = imported(data, "1.3")
    assert [[item.kind for item in items] for items in modules.values()] == [
        ["webcontent"],
        ["assignment"],
    ]
    assert modules["Week 1 (Mon 04 Oct 2027)"][0].content.find(".//{*}due_at") is None


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("imsmanifest.xml", "1.3.0", "1.2.0"),
        ("imsmanifest.xml", "rooted-hierarchy", "tree"),
        ("imsmanifest.xml", '<file href="pages/syllabus.html"', '<file href="../syllabus.html"'),
        ("imsmanifest.xml", 'identifier="toy-variant"', 'identifier="1 toy"'),
        ("imsmanifest.xml", 'intendeduse="syllabus"', 'intendeduse="plan"'),
        ("imsmanifest.xml", "<title>Start here</title>", ""),
        ("links/book.xml", "https:", "javascript:"),
        ("assignments/toy.xml", "2027-11-02T22:59:00", "2 Nov 2027"),
        ("assignments/toy.xml", 'points_possible="100"', 'points_possible="many"'),
        ("assignments/toy.xml", "</instructor_text>", "</instructor_text><attachments/>"),
    ],
)
def test_schema_refuses_what_is_not_of_the_format(course, file, old, new):
    (data, _), _ = make(course)
    text = zipfile.ZipFile(io.BytesIO(data)).read(file).decode()
    rules = schema("1.3")
    assert rules.validate(etree.fromstring(text.encode()))
    assert old in text
    assert not rules.validate(etree.fromstring(text.replace(old, new).encode()))

"""What platforms import of an examination has the structure of their formats, and no answer."""

import io
import zipfile
from pathlib import Path

import pytest
from lxml import etree

from autograder.authoring.exam_bank import Drawn, Question
from autograder.lms.exam_export import canvas_qti, moodle_xml

RULES = etree.RelaxNG(etree.parse(Path(__file__).with_name("exam.rng")))


def drawn(title, text, figure=None):
    asked = Question(3, "here", title, "claim", 7, 7, "easy", text, "", "")
    return Drawn(asked, text, "The secret.", ((7, "all & <everything>"),), figure, "A line.")


QUESTIONS = (
    drawn('Less < more & "quotes"', "Is 1 < 2 & 3 > 2?\n\n1. one\n2. two"),
    drawn(
        "Code", "Find:\n\n```python\nif a < b and c:\n    x = [1, 2]  # $5, \\alpha\n```\n\nWhy?"
    ),
    drawn("A plot", "Read it.\n\n![A line.](figure.png)", b"\x89PNG picture"),
    drawn("Structure", "* choose\n\n[x] no choice\n\n____\n\nTitle: none\n\n2. Points: 3"),
)


@pytest.fixture(scope="module")
def exports():
    pytest.importorskip("text2qti", reason="text2qti is pinned: make setup installs it")
    archive = zipfile.ZipFile(io.BytesIO(canvas_qti("Mid-term & more", QUESTIONS)))
    files = {name: archive.read(name) for name in archive.namelist()}
    (name,) = (n for n in files if n.startswith("text2qti") and "meta" not in n)
    return files, files[name], moodle_xml("Mid-term & more", QUESTIONS)


def test_qti_and_moodle_xml_keep_to_their_formats(exports):
    for document in exports[1:]:
        RULES.assertValid(etree.fromstring(document))


def test_every_question_arrives_whole_once_and_in_order(exports):
    _, qti, moodle = exports
    space = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"
    items = list(etree.fromstring(qti).iter(f"{space}item"))
    essays = etree.fromstring(moodle).findall("question[@type='essay']")
    titles = [one.question.title for one in QUESTIONS]
    assert [item.get("title") for item in items] == titles
    assert [essay.findtext("name/text") for essay in essays] == titles
    shown = [
        [item.find(f".//{space}mattext").text for item in items],
        [essay.findtext("questiontext/text") for essay in essays],
    ]
    for texts in shown:
        plain = ["".join(etree.HTML(text).itertext()) for text in texts]
        assert "Is 1 < 2 & 3 > 2?" in plain[0] and "two" in plain[0]
        assert "if a < b and c:\n    x = [1, 2]  # $5, \\alpha" in plain[1]
        assert "figure" in texts[2] and "<img" in texts[2]
        for part in ("choose", "[x] no choice", "Title: none", "Points: 3"):
            assert part in plain[3]


def test_canvas_gets_no_answer_and_each_listed_file(exports):
    files, _, moodle = exports
    assert not any(b"secret" in data or b"everything" in data for data in files.values())
    assert b"secret" in moodle
    manifest = etree.fromstring(files["imsmanifest.xml"])
    listed = {one.get("href") for one in manifest.iter("{*}file")}
    assert listed == {name for name in files if name[-1] != "/"} - {"imsmanifest.xml"}
    ids = manifest.xpath("//@identifier")
    assert len(ids) == len(set(ids))
    assert {one.get("identifierref") for one in manifest.iter("{*}dependency")} <= set(ids)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"essay_question", b"essay"),
        (b"<fieldentry>7<", b"<fieldentry>0<"),
        (b'texttype="text/html"', b'texttype="html"'),
        (b"root_section", b"first"),
        (b'type="essay"', b'type="esay"'),
        (b"$course$/", b""),
        (b"<defaultgrade>7", b"<defaultgrade>seven"),
        (b'<graderinfo format="html">', b"<graderinfo>"),
        (b"editor<", b"word<"),
    ],
)
def test_structure_refuses_what_is_not_of_the_format(exports, old, new):
    (document,) = (one for one in exports[1:] if old in one)
    assert not RULES.validate(etree.fromstring(document.replace(old, new, 1)))

"""A bank is read, drawn, proved and refused with the place and the rule."""

import zipfile
from io import BytesIO
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from autograder.authoring.exam_bank import choose, draw_question, read_bank, secret_texts
from autograder.cli import main as cli
from autograder.records import GraderError
from autograder.reports.exam_paper import answers_markdown, paper_markdown
from tests.autograder.conftest import make_toy_course

SETTINGS = '[syllabus.chapters]\nsums = "Sums"\nspins = "Spins"\n'
SUMS = """\
## Twice
derive · 4 points · 5 minutes · easy

```python numbers
n = draw.choice(range(100))
```
What is twice {{n}}? Call it <b>m</b>.

### Answer
It is {{2 * n:.1f}}, which no student of this course should come across before the examination.

### Rubric
- 3: the number, {{2 * n}}
- 1: its name,
  on a second line

```python checks
assert n + n == 2 * n
```

## Wrong way
bug · 6 points · 6 minutes · hard

```python
def twice(n):
    return n + 2
```

### Answer
```python
def twice(n):
    return n + n
```

### Rubric
- 6: both n

```python checks
wrong, right = {}, {}
exec(question_code[0], wrong)
exec(answer_code[0], right)
assert wrong["twice"](3) != right["twice"](3) == 6
```
"""
SPINS = """\
## A line
plot · 3 points · 3 minutes · medium

```python numbers
class Figure:
    def savefig(self, stream, **options):
        stream.write(b"picture")


figure, alt = Figure(), "A rising line."
```
Read {{figure}}.

### Answer
It rises.

### Rubric
- 3: rises
"""


@pytest.fixture
def course(tmp_path):
    made = make_toy_course(tmp_path / "tree" / "assignments")
    (made.folder / "course.toml").write_text(SETTINGS)
    (made.folder / "exam").mkdir()
    (made.folder / "exam" / "sums.md").write_text(SUMS, encoding="utf-8")
    (made.folder / "exam" / "spins.md").write_text(SPINS, encoding="utf-8")
    return made


def change(course, old, new):
    path = course.folder / "exam" / "sums.md"
    assert old in SUMS
    path.write_text(SUMS.replace(old, new), encoding="utf-8")


def test_numbers_come_from_the_seed_and_stay_when_other_questions_come(course):
    twice = read_bank(course)[0]
    texts = {draw_question(twice, seed).text for seed in range(20)}
    assert len(texts) > 10 and draw_question(twice, 7) == draw_question(twice, 7)
    drawn = draw_question(twice, 7)
    n = int(drawn.text.split()[3].rstrip("?"))
    assert drawn.answer.startswith(f"It is {2 * n:.1f}, ")
    assert drawn.rubric == ((3, f"the number, {2 * n}"), (1, "its name,\n  on a second line"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("assert n + n == 2 * n", "assert n + n == 3 + n * n", "sums.md: Twice: its checks fail"),
        ("return n + n", "return n + 2", "Wrong way: its checks fail: AssertionError"),
        ("{{2 * n}}", "{{2 * m}}", r"Twice: \{\{2 \* m\}\} cannot be filled: name 'm'"),
        ("draw.choice(", "draw.choose(", "Twice: its numbers fail: AttributeError"),
        (
            "n = draw.choice(range(100))",
            "import matplotlib.figure\n\nn, figure = 3, matplotlib.figure.Figure()\n"
            "axes = figure.add_subplot(ylim=(0, 3))\naxes.plot([1, 2], [1, 4])\naxes.axhline(2)",
            r"Twice: its figure's axes cut off the point \(2, 4\)",
        ),
    ],
)
def test_answer_that_is_not_proved_makes_no_paper(course, old, new, message):
    change(course, old, new)
    with pytest.raises(GraderError, match=message):
        [draw_question(question, 3) for question in read_bank(course)]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("- 6: both n", "- 5: both n", "rubric sums to 5, and it has 6 points"),
        ("derive · 4", "recite · 4", "must look like 'derive · 8 points · 8 minutes · medium'"),
        ("### Rubric\n- 6", "### Marks\n- 6", "must have '### Answer' and '### Rubric'"),
    ],
)
def test_question_that_is_not_complete_is_named(course, old, new, message):
    change(course, old, new)
    with pytest.raises(GraderError, match=message):
        read_bank(course)


def test_file_of_no_chapter_and_an_empty_bank_are_named(course):
    (course.folder / "exam" / "sums.md").rename(course.folder / "exam" / "summs.md")
    with pytest.raises(GraderError, match=r"summs.md belongs to no chapter.*sums, spins"):
        read_bank(course)
    for path in (course.folder / "exam").iterdir():
        path.unlink()
    with pytest.raises(GraderError, match="has no questions"):
        read_bank(course)


def test_paper_has_what_fits_and_says_what_does_not(course):
    bank = read_bank(course)
    assert [q.title for q in choose(bank, 9, [1, 2], 0)] in (["Wrong way", "A line"],)
    assert [q.title for q in choose(bank, 14, [1, 2], 0)] == ["Twice", "Wrong way", "A line"]
    with pytest.raises(GraderError, match="minutes is 2; the shortest question takes 3"):
        choose(bank, 2, [1, 2], 0)
    with pytest.raises(GraderError, match="no questions on chapter 3"):
        choose(bank, 30, [1, 3], 0)


def test_paper_shows_no_answer_and_answers_show_points(course):
    drawn = [draw_question(question, 1) for question in read_bank(course)]
    paper = paper_markdown("Mid-term", drawn, 1)
    assert "no student of this course" not in paper and "n + n" not in paper
    assert "3 questions, 13 points, 14 minutes; variant 1." in paper
    assert "![A rising line.](data:image/png;base64,cGljdHVyZQ==)" in paper
    answers = answers_markdown("Mid-term", drawn, 1)
    assert "no student of this course" in answers and "- **6:** both n" in answers


def test_bank_is_searched_for_in_the_student_edition_without_its_code(course):
    text = secret_texts(course)["exam/sums.md"]
    assert "which no student of this course should come across" in text and "def twice" not in text


def test_command_writes_paper_answers_qti_and_moodle(course, tmp_path):
    pytest.importorskip("text2qti", reason="text2qti is pinned: make setup installs it")
    out = tmp_path / "out"
    command = [f"--course={course.folder}", "exam", "--seed=4", "--minutes=14", "--chapters=1,2"]
    done = CliRunner().invoke(cli.main, [*command, f"--out={out}", "--no-pdf"])
    assert done.exit_code == 0, done.output
    assert "3 questions, 13 points, 14 of 14 minutes" in done.stdout
    page = (out / "exam-4.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;m&lt;/b&gt;" in page and 'src="data:image/png;base64,' in page
    quiz = ET.parse(out / "exam-4-moodle.xml").getroot()
    essays = quiz.findall("question[@type='essay']")
    assert [essay.findtext("defaultgrade") for essay in essays] == ["4", "6", "3"]
    assert essays[2].find("questiontext/file").text == "cGljdHVyZQ=="
    assert "@@PLUGINFILE@@/figure.png" in essays[2].findtext("questiontext/text")
    assert "both n" in essays[1].findtext("graderinfo/text")
    assert "both n" not in essays[1].findtext("questiontext/text")
    with zipfile.ZipFile(BytesIO((out / "exam-4-canvas.zip").read_bytes())) as archive:
        (name,) = [n for n in archive.namelist() if n.startswith("text2qti") and "meta" not in n]
        tree = ET.fromstring(archive.read(name))
        assert archive.read("images/figure-3.png") == b"picture"
        manifest = ET.fromstring(archive.read("imsmanifest.xml"))
    space = "{http://www.imsglobal.org/xsd/ims_qtiasiv1p2}"
    fields = [field.text for field in tree.iter(f"{space}fieldentry")]
    assert fields.count("essay_question") == 3 and {"4", "6", "3"} <= set(fields)
    files = {f.get("href") for f in manifest.iter() if f.tag.endswith("}file")}
    assert "images/figure-3.png" in files
    assert b"no student of this course" not in ET.tostring(tree)


@pytest.mark.parametrize("chapters", ["x", "1-", "3-x"])
def test_chapters_that_are_none_are_named(course, chapters):
    done = CliRunner().invoke(
        cli.main, [f"--course={course.folder}", "exam", "--chapters", chapters]
    )
    assert (
        done.exit_code == 2 and "is neither a chapter nor a range, such as 5 or 1-8" in done.stderr
    )

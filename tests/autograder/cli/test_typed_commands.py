"""What README and the guide have people type, run in their order on a small course."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from autograder.authoring.course import COURSE_VARIABLE
from autograder.authoring.notebooks import as_text
from autograder.cli.main import main
from tests.test_documented_commands import COMMANDS

QUICK = {
    "release",
    "work",
    "mine",
    "grade",
    "explain",
    "feedback",
    "export",
    "dashboard",
    "similarity",
}
IN_A_CLASS = {"ps1": "toy", "ps5": "toy", "ada": "perfect", "ps1_kneser_ney_prob": "toy_double"}


def quick_commands() -> list[tuple[str, ...]]:
    """What README and the guide have an instructor or a student type, in their order."""
    found = []
    for command in COMMANDS:
        if command.place not in ("README.md", "book/back/instructors.md") or not command.is_whole:
            continue
        if command.words[0] == "autograder" and command.words[1] in QUICK:
            words = tuple(IN_A_CLASS.get(word, word) for word in command.words[1:])
            if not {"--roster", "--nbgrader", "canvas", "--scheduler"} & set(words):
                found.append(words)
    return list(dict.fromkeys(words for words in found if "inbound" not in " ".join(words)))


@pytest.mark.usefixtures("without_sandbox")
def test_quick_commands_of_readme_and_guide_do_what_they_say(toys, tmp_path, monkeypatch):
    course = toys.make_course(tmp_path / "assignments")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(COURSE_VARIABLE, raising=False)
    for place in ("submitted", "downloads/toy", "downloads/ps1"):
        Path(place).mkdir(parents=True)
        notebook = as_text(toys.answer(course, double=toys.double))
        (Path(place) / "perfect.ipynb").write_text(notebook)
    commands = quick_commands()
    order = ["release", "work", "mine", "grade", "explain", "dashboard", "export", "feedback"]
    commands.sort(key=lambda words: order.index(words[0]) if words[0] in order else len(order))
    assert {words[0] for words in commands} >= {"release", "work", "mine", "grade", "explain"}
    for words in commands:
        done = CliRunner().invoke(main, [*words, *(["--no-open"] if words[0] == "mine" else [])])
        assert done.exit_code == 0, (words, done.output)

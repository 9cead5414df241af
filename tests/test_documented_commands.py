"""Every command that a page shows is one that its program takes.

Read are code blocks and `inline code` of all pages for people, and what each `--help` shows.
Nothing is started: the programs' own parsers read the words, and then it ends. The quick ones are
run in tests/autograder/cli/test_typed_commands.py.
"""

import argparse
import importlib
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import click
import pytest

from autograder.cli.main import main

ROOT = Path(__file__).parent.parent
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "ARCHITECTURE.md")),
    *sorted((ROOT / "book").rglob("*.md")),
    *sorted((ROOT / "assignments").glob("*.md")),
    *sorted((ROOT / "assignments" / "edition").glob("*.md")),
]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
_FENCE = re.compile(
    r"^ *(`{3,})(\{code-block\} )?(bash|console|powershell|sh)\n(.*?)^ *\1$", re.M | re.S
)
_INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_OURS = re.compile(r"(?:autograder|make|python -m (?:course_pkg|benchmarks|autograder|tests)\b)")
_SCRIPT = re.compile(r"python (?!-)\S+\.py")
_CUT = re.compile(r"\s+#.*|\s*[>|].*")


@dataclass(frozen=True)
class Command:
    """A command as a page shows it.

    Attributes:
        is_whole: shown to be typed, and not named in a sentence, which may leave arguments out.
    """

    place: str
    words: tuple[str, ...]
    is_whole: bool

    def __str__(self) -> str:
        return f"{self.place}: {shlex.join(self.words)}"


def commands_in(place: str, text: str) -> list[Command]:
    """Find the commands on a page."""
    blocks = [match[4] for match in _FENCE.finditer(text)]
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    found = [(line, True) for line in lines]
    prose = _FENCE.sub("", text)
    found += [(match[1], False) for match in _INLINE.finditer(prose)]
    return [one for line, whole in found for one in _split(place, line, whole)]


def _split(place: str, line: str, is_whole: bool) -> list[Command]:
    commands = []
    for part in re.split(r"&&|;", _CUT.sub("", line)):
        shown = re.sub(r"^(?:[A-Z_]+=\S+ +)+", "", part.strip())
        if _OURS.match(shown) or _SCRIPT.match(shown):
            commands.append(Command(place, tuple(shlex.split(shown)), is_whole))
    return commands


def documented() -> list[Command]:
    """Every command of every page, and of every `--help`."""
    found = []
    for page in PAGES:
        found += commands_in(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8"))
    for name, command in [("", main), *main.commands.items()]:
        for line in (command.epilog or "").splitlines():
            shown = re.split(r"\s{2,}", line.strip())[0]
            found += _split(f"autograder {name} --help", shown, True)
    return found


COMMANDS = documented()


class Parsed(Exception):
    """The program's own parser took the words."""


@pytest.fixture
def parse_only(monkeypatch):
    """Let every program of argparse end as soon as it has read its words."""
    whole = argparse.ArgumentParser.parse_args

    def parse_args(self, *args, **named):
        whole(self, *args, **named)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_args)
    monkeypatch.chdir(ROOT)

    def error(self, message):
        raise argparse.ArgumentError(None, message)

    monkeypatch.setattr(argparse.ArgumentParser, "error", error)

    def parse(command: Command, module: str, words: tuple[str, ...]) -> None:
        monkeypatch.setattr(sys, "argv", [module, *words])
        loaded = importlib.import_module(module)
        entry = getattr(loaded, "main", None) or importlib.import_module(f"{module}.__main__").main
        try:
            entry()
        except Parsed:
            return
        except argparse.ArgumentError as error:
            lacks = "required" in str(error) and not command.is_whole
            assert lacks, f"{command}: {error}"

    return parse


def test_commands_are_found_as_pages_show_them():
    text = "Run `make lab` or `autograder check`.\n\n```bash\nA=1 make test && autograder grade "
    text += "ps1 \\\n   --dry-run  # nothing\nautograder export ps1 > f.csv\nls\n```\n"
    assert [(one.words, one.is_whole) for one in commands_in("p", text)] == [
        (("make", "test"), True),
        (("autograder", "grade", "ps1", "--dry-run"), True),
        (("autograder", "export", "ps1"), True),
        (("make", "lab"), False),
        (("autograder", "check"), False),
    ]
    assert len({one.words for one in COMMANDS}) > 120
    assert {one.place for one in COMMANDS} >= {"README.md", "book/back/instructors.md"}


def test_every_target_that_a_page_asks_make_for_exists():
    targets = {
        name
        for line in re.findall(r"^([\w %$():=.-]+):(?!=)", MAKEFILE, re.M)
        for name in line.split()
    }
    targets |= {f"test-{part}" for part in ("package", "grader", "sets", "book")}
    variables = set(re.findall(r"\$\((\w+)\)", MAKEFILE)) | {"VENV", "PYTHON"}
    unknown = []
    for command in COMMANDS:
        if command.words[0] == "make":
            named = [word.partition("=") for word in command.words[1:]]
            wrong = [n for n, sign, _ in named if n not in (variables if sign else targets)]
            unknown += [f"{command} has no {name}" for name in wrong]
    assert unknown == []


@pytest.mark.parametrize(
    "name",
    sorted({o.words[1] for o in COMMANDS if o.words[0] == "autograder" and len(o.words) > 1}),
)
def test_autograder_takes_what_pages_tell_to_type(name):
    refused = []
    for command in COMMANDS:
        if command.words[:2] == ("autograder", name):
            try:
                _read_by_click(command.words[1:])
            except click.exceptions.Exit:
                pass
            except click.UsageError as error:
                lacks = isinstance(error, click.MissingParameter | click.BadOptionUsage)
                if (
                    not (lacks and not command.is_whole)
                    and "does not exist" not in error.format_message()
                ):
                    refused.append(f"{command}: {error.format_message()}")
    assert refused == []


def _read_by_click(words: tuple[str, ...]) -> None:
    context = main.make_context("autograder", list(words))
    name, command, rest = main.resolve_command(context, [*context.protected_args, *context.args])
    assert command is not None
    command.make_context(name, rest, parent=context)


def test_python_modules_and_scripts_take_what_pages_tell_to_type(parse_only):
    seen = set()
    for command in COMMANDS:
        first, *rest = command.words
        if first != "python" or command.words in seen:
            continue
        seen.add(command.words)
        if rest[0] == "-m":
            module, words = rest[1], tuple(rest[2:])
        else:
            script = ROOT / rest[0]
            if not script.exists():  # of the student edition: python work.py
                assert (ROOT / "assignments" / "edition" / rest[0]).exists(), command
                continue
            module, words = rest[0].removesuffix(".py").replace("/", "."), tuple(rest[1:])
        if not command.is_whole and (not words or module.startswith(("tests", "autograder"))):
            assert importlib.util.find_spec(module), command
            continue
        parse_only(command, module, words)
    assert len(seen) > 40


def test_files_of_students_that_the_guide_s_commands_name_never_get_into_git():
    guide = (ROOT / "book" / "back" / "instructors.md").read_text(encoding="utf-8")
    named = set(re.findall(r"(?:--submissions|--roster|--times) ([a-z][\w./-]*)", guide))
    named |= set(re.findall(r"autograder [^`\n]*> ([a-z][\w./-]*)", guide))
    assert {"gradebook.csv", "to-canvas.csv", "downloads/ps4"} <= named
    files = [path if "." in path else f"{path}/all.zip" for path in sorted(named)]
    command = ["git", "check-ignore", "--no-index", *files]
    ignored = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.split()
    assert [path for path in files if path not in ignored] == []

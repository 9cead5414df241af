"""The command that makes the running table again: it knows every row, and says what it kept."""

import argparse
import ast
import importlib
import json
import re
import shlex
import subprocess

import pytest

from benchmarks import running_table
from course_pkg.results import RECORDED, Result, chapter_results


def _numbers(value):
    """All numbers in a record."""
    if isinstance(value, list | dict):
        parts = value.values() if isinstance(value, dict) else value
        return set().union(*map(_numbers, parts))
    return {value} if isinstance(value, float) else set()


MEANS = {"assistants"}
"""Chapters whose pages take means over the seeds of a record, and check them there."""


@pytest.mark.parametrize("chapter", running_table.chapters())
def test_every_recorded_row_stands_in_a_record_that_a_run_makes(chapter):
    runs = [name for name, run in running_table.RUNS.items() if run.chapter == chapter]
    records = [(running_table.ROOT / running_table.RECORDS / f"{name}.json") for name in runs]
    numbers = [_numbers(json.loads(path.read_text(encoding="utf-8"))) for path in records]
    recorded = [row for row in chapter_results(chapter) if row.source == RECORDED]
    for row in recorded if chapter not in MEANS else ():
        assert any(row.perplexity in found for found in numbers), row.key
    assert bool(runs) == bool(recorded)


def test_page_of_the_whole_ladder_has_the_rows_of_all_chapters():
    page = (running_table.ROOT / "book" / "back" / "ladder.md").read_text(encoding="utf-8")
    listed = re.search(r"^CHAPTERS = (\[.*?\])$", page, flags=re.MULTILINE | re.DOTALL)
    assert ast.literal_eval(listed[1]) == running_table.chapters()


class ParsedError(Exception):
    """The command line was understood; nothing else is to happen."""


@pytest.mark.parametrize("name", running_table.RUNS)
def test_every_run_has_options_that_exist(name, monkeypatch):
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(parser, *arguments):
        parse(parser, *arguments)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    module, *arguments = shlex.split(running_table.RUNS[name].script.format(data="corpora"))
    with pytest.raises(ParsedError):
        importlib.import_module(f"benchmarks.{module}").main([*arguments, "--record", "new.json"])


def test_what_needs_a_corpus_is_kept_and_named_and_the_rest_is_run(monkeypatch, tmp_path):
    commands = []

    def run(command, *, cwd, check):
        commands.append(command[2])
        return subprocess.CompletedProcess(command, int("window" in command[2]))

    monkeypatch.setattr(running_table.subprocess, "run", run)
    chosen = ["ngrams", "fixed_window", "transformer", "gpt"]
    kept, failed = running_table.run_scripts(chosen, "")
    assert kept == {"ptb_ngram": "ptb", "transformer_tales": "tales", "pretrained_rows": "tales"}
    assert commands == [
        "benchmarks.chapters.window",
        "benchmarks.chapters.transformer",
    ] and failed == ["window"]
    (tmp_path / "tales").mkdir()
    assert running_table.run_scripts(["gpt"], str(tmp_path)) == ({}, [])


def test_rows_of_before_and_now_stand_beside_each_other():
    def rows(**perplexity):
        found = (Result("c", model, "stories", value) for model, value in perplexity.items())
        return {row.key: row for row in found}

    table = running_table.compare(rows(a=2.0, b=4.0, d=3.0), rows(a=2.0, b=4.2, e=5.0), {})
    assert [(cells[1], *cells[3:]) for cells in table] == [
        ("a", "2.0000", "2.0000", ""),
        ("b", "4.0000", "4.2000", "+5.00%"),
        ("d", "3.0000", "–", "gone"),
        ("e", "–", "5.0000", "new"),
    ]
    (failed,) = running_table.compare(rows(a=2.0), rows(a=2.0), {"c": "failed"})
    assert failed[-1] == "failed"


def test_unknown_chapter_is_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        running_table.main(["--only", "anagrams"])
    assert "anagrams" in capsys.readouterr().err

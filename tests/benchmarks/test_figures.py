"""The command that records published figures: what it runs, and what it does when one fails."""

import argparse
import importlib
import shlex
import subprocess

import pytest

from benchmarks import figures, measured_page


@pytest.fixture
def commands(monkeypatch):
    """Note the commands instead of running them; one that has a word of `failing` fails."""
    noted, failing = [], set()

    def run(command, *, cwd, check):
        noted.append(command[1:])
        return subprocess.CompletedProcess(command, 1 if failing & set(command) else 0)

    monkeypatch.setattr(figures.subprocess, "run", run)
    monkeypatch.setattr(measured_page, "main", lambda: noted.append(["the page"]))
    return noted, failing


class ParsedError(Exception):
    """The command line was understood; nothing else is to happen."""


@pytest.mark.parametrize(
    ("device", "name"), [(device, name) for device, runs in figures.RUNS.items() for name in runs]
)
def test_every_run_has_a_place_on_the_page_and_options_that_exist(device, name, monkeypatch):
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(parser, *arguments):
        parse(parser, *arguments)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    module, *arguments = shlex.split(figures.RUNS[device][name])
    benchmark = importlib.import_module(f"benchmarks.{module}")
    with pytest.raises(ParsedError):
        benchmark.main([*arguments, "--device", device, "--record", "new.json"])
    assert name in measured_page.PUBLISHED


def test_all_run_and_the_page_is_written(commands):
    noted, _ = commands
    figures.main(["--device", "cuda"])
    *runs, last = noted
    assert last == ["the page"]
    assert [command[-1] for command in runs] == [
        f"course_pkg/results/benchmarks/{name}.json" for name in figures.RUNS["cuda"]
    ]
    assert all(command[-4:-2] == ["--device", "cuda"] for command in runs)


def test_one_that_fails_does_not_stop_the_others(commands, capsys):
    noted, failing = commands
    failing.add("benchmarks.papers.names")
    with pytest.raises(SystemExit, match="failed: names"):
        figures.main(["--only", "names", "multi30k_quick"])
    assert len(noted) == 3


def test_unknown_record_is_refused_before_anything_runs(commands, capsys):
    with pytest.raises(SystemExit, match="2"):
        figures.main(["--only", "names", "anagrams"])
    assert "anagrams" in capsys.readouterr().err
    assert commands[0] == []

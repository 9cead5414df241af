import contextlib
import io
import json

import pytest

from autograder.records import CellResult, Run, SandboxUnavailable
from autograder.sandbox import doctor, escape_attempts, sandbox


@pytest.mark.sandbox
def test_all_escape_attempts_are_stopped_here(capsys):
    report = doctor.run_escape_attempts()
    assert report.ok
    doctor.print_report(report)
    printed = capsys.readouterr().out
    assert "GOT THROUGH" not in printed
    assert printed.count("stopped ") >= 17
    assert "Isolation: tier" in printed


def test_machine_without_sandbox_is_reported(monkeypatch, capsys):
    def unavailable(self):
        raise SandboxUnavailable("install bubblewrap")

    monkeypatch.setattr(sandbox.Sandbox, "__enter__", unavailable)
    report = doctor.run_escape_attempts()
    assert not report.ok
    doctor.print_report(report)
    assert "install bubblewrap" in capsys.readouterr().out


class LeakySandbox:
    """Runs every cell in this process, as a sandbox that isolates nothing would."""

    isolation = "none"
    refused = {"A": "a test says so"}  # noqa: RUF012

    def __init__(self, limits=None, container=""):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def run(self, cells, requests):
        return Run(tuple(map(self.cell, range(len(cells)), cells)), (), 0.1)

    def cell(self, index, source):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(source, {})
        return CellResult(index, printed.getvalue())


# What may be tried in this process: it touches nothing but what is planted.
HARMLESS = ("files", "network", "owner")


@pytest.fixture
def leaky(monkeypatch):
    listed = escape_attempts.harmless_attempts

    def few(planted):
        return [attack for attack in listed(planted) if attack.name in HARMLESS]

    def none(limits):
        raise AssertionError("the dangerous ones must not be tried where a harmless one succeeds")

    monkeypatch.setattr(doctor, "Sandbox", LeakySandbox)
    for module in (doctor, escape_attempts):
        monkeypatch.setattr(module, "harmless_attempts", few)
    monkeypatch.setattr(doctor, "dangerous_attempts", none)


def test_attempt_that_gets_through_is_named_and_dangerous_ones_are_not_tried(leaky, capsys):
    report = doctor.run_escape_attempts()
    assert not report.ok
    doctor.print_report(report)
    printed = capsys.readouterr().out
    assert printed.count("GOT THROUGH") == len(HARMLESS) + 1
    assert "GOT THROUGH  change the gradebook by any of these" in printed
    assert "not here     tier A, namespaces by bubblewrap: a test says so" in printed
    assert "Do not grade here" in printed
    plain = json.loads(json.dumps(doctor.plain_report(report)))
    assert (plain["ok"], plain["isolation"]) == (False, "none")
    assert [attempt["stopped"] for attempt in plain["attempts"]] == [False] * (len(HARMLESS) + 1)


def test_proof_names_what_gets_through(leaky):
    found = escape_attempts.prove(LeakySandbox().run)
    assert found.startswith("student code can read the gradebook; change whose a file is")
    assert found.endswith("open a connection; change the gradebook by any of these")


def test_proof_says_that_honest_code_does_not_run():
    def fails(cells, requests):
        results = [CellResult(i, escape_attempts.STOPPED) for i in range(len(cells) - 1)]
        return Run((*results, CellResult(len(results), "", "PermissionError: os.py")), (), 0.1)

    assert escape_attempts.prove(fails) == "honest code does not run: PermissionError: os.py"


def test_planted_files_show_that_they_were_touched():
    with escape_attempts.plant_files() as planted:
        assert planted.is_intact
        planted.gradebook.write_text(planted.gradebook.read_text())
        assert not planted.is_intact  # its time tells


BY_MEMORY = "memory: more memory was used than is allowed"
BY_TIME = "TimeLimitError: this cell does not end, and for most of the time it has not computed"


@pytest.mark.parametrize(
    ("name", "cell", "stopped"),
    [
        ("daemon", CellResult(0, ""), True),
        ("fork bomb", CellResult(0, "STOPPED\n"), True),
        ("fork bomb", CellResult(0, "", BY_MEMORY), True),  # before all of them were started
        ("fork bomb", CellResult(0, ""), False),
        ("hoard", CellResult(0, "HELD 2000000000\n", BY_MEMORY), True),
        ("hoard", CellResult(0, "HELD 2000000000\n", BY_TIME), False),
        ("hoard", CellResult(0, "refused\nHELD 2000\n"), True),
        ("disk bomb", CellResult(0, "", "OSError: No space left on device"), True),
        ("disk bomb", CellResult(0, "FULL\n", BY_MEMORY), True),
        ("disk bomb", CellResult(0, "FULL\n", BY_TIME), False),
    ],
)
def test_outcome_does_not_depend_on_how_fast_a_machine_is(name, cell, stopped):
    """Whoever looks may come seconds late, but what is held is held until it has been seen."""
    attempts = escape_attempts.dangerous_attempts(doctor._LIMITS)
    for attempt in attempts:
        if attempt.name == name:
            assert attempt.stopped(cell, 10.0) == stopped, attempt.description

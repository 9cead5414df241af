import pytest

from autograder import doctor, sandbox
from autograder.records import Run, SandboxUnavailable


@pytest.mark.sandbox
def test_canaries_are_all_stopped_here(capsys):
    assert doctor.examine()
    printed = capsys.readouterr().out
    assert "GOT THROUGH" not in printed
    assert printed.count("stopped ") >= 12
    assert "Isolation: bubblewrap" in printed


def test_machine_without_sandbox_is_reported(monkeypatch, capsys):
    def unavailable(self):
        raise SandboxUnavailable("install bubblewrap")

    monkeypatch.setattr(sandbox.Sandbox, "__enter__", unavailable)
    assert not doctor.examine()
    assert "install bubblewrap" in capsys.readouterr().out


class LeakySandbox:
    """Runs every cell in this process, as a sandbox that isolates nothing would."""

    isolation = "none"

    def __init__(self, limits):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def run(self, cells, requests):
        import contextlib
        import io

        from autograder.records import CellResult

        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(cells[0], {})
        return Run((CellResult(0, printed.getvalue()),), (), 0.1)


def test_canary_that_gets_through_is_named(monkeypatch, capsys):
    harmless = ("files", "writing", "network", "processes")
    targeted = doctor._targeted
    monkeypatch.setattr(doctor, "Sandbox", LeakySandbox)
    monkeypatch.setattr(doctor, "_BOMBS", [])
    monkeypatch.setattr(
        doctor, "_targeted", lambda *a: [x for x in targeted(*a) if x.name in harmless]
    )
    assert not doctor.examine()
    printed = capsys.readouterr().out
    assert printed.count("GOT THROUGH") == len(harmless)
    assert "Do not grade here" in printed

import pytest

from autograder.inside.process_limits import Limits
from autograder.records import SandboxUnavailable
from autograder.sandbox import bubblewrap


@pytest.fixture
def no_cache():
    bubblewrap._bubblewrap.cache_clear()
    yield
    bubblewrap._bubblewrap.cache_clear()


def test_missing_bubblewrap_is_named(monkeypatch, no_cache, tmp_path):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable, match="bubblewrap is not installed"):
        bubblewrap.bubblewrap_command(tmp_path, Limits(), 3)


def test_old_bubblewrap_is_refused(monkeypatch, no_cache, tmp_path):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: "/bin/true")
    with pytest.raises(SandboxUnavailable, match="bubblewrap at /bin/true is too old"):
        bubblewrap.bubblewrap_command(tmp_path, Limits(), 3)


def test_installed_copies_of_the_course_are_hidden(monkeypatch, tmp_path):
    for name in ("autograder", "assignments", "numpy"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(bubblewrap, "_package_folders", lambda: (tmp_path,))
    hidden = {f"/opt/packages/0/{name}" for name in ("autograder", "assignments")}
    assert set(bubblewrap._hidden()) == hidden

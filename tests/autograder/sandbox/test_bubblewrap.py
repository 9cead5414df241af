import pytest

from autograder.inside.process_limits import Limits
from autograder.records import GraderError, SandboxUnavailable
from autograder.sandbox import bubblewrap


@pytest.fixture
def no_cache():
    bubblewrap._bubblewrap.cache_clear()
    yield
    bubblewrap._bubblewrap.cache_clear()


@pytest.fixture
def course(tmp_path):
    """A package whose `b` may be seen and whose `answers` may not."""
    for path, text in {
        "pkg/__init__.py": "",
        "pkg/answers.py": "",
        "pkg/part/__init__.py": "",
        "pkg/part/a.py": "",
        "pkg/part/b.py": "B = 1",
        "pkg/part/data.json": "{}",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_missing_bubblewrap_is_named(monkeypatch, no_cache, tmp_path):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: None)
    with pytest.raises(SandboxUnavailable, match="bubblewrap is not installed"):
        bubblewrap.bubblewrap_command(tmp_path, [], Limits(), 3)


def test_old_bubblewrap_is_refused(monkeypatch, no_cache, tmp_path):
    monkeypatch.setattr(bubblewrap.shutil, "which", lambda name: "/bin/true")
    with pytest.raises(SandboxUnavailable, match="bubblewrap at /bin/true is too old"):
        bubblewrap.bubblewrap_command(tmp_path, [], Limits(), 3)


def test_only_the_named_modules_are_copied(course, tmp_path):
    target = tmp_path / "inside"
    bubblewrap.copy_modules(["pkg.part.b"], course, target)
    copied = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert copied == {"pkg/__init__.py", "pkg/part/__init__.py", "pkg/part/b.py"}


def test_unknown_module_is_named(course, tmp_path):
    with pytest.raises(GraderError, match=r"pkg/part/c\.py does not exist"):
        bubblewrap.copy_modules(["pkg.part.c"], course, tmp_path / "inside")


def test_installed_copies_of_the_course_are_hidden(monkeypatch, tmp_path):
    for name in ("autograder", "pkg", "numpy"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(bubblewrap, "_package_folders", lambda: (tmp_path,))
    assert set(bubblewrap._hidden(["pkg"])) == {"/opt/packages/0/autograder", "/opt/packages/0/pkg"}

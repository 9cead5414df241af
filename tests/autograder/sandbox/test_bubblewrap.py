from itertools import pairwise
from pathlib import Path

import pytest

from autograder.inside.process_limits import Limits
from autograder.records import GraderError, SandboxUnavailable
from autograder.sandbox import bubblewrap, mounts


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


@pytest.fixture
def mounted(monkeypatch, tmp_path):
    """A folder that is mounted where it is, with a folder of packages that is mounted once more."""
    for name in ("course", "packages/autograder/grading", "packages/reference", "packages/numpy"):
        (tmp_path / "usr" / name).mkdir(parents=True)
        (tmp_path / "usr" / name / "file.py").touch()
    (tmp_path / "usr/packages/single.py").touch()
    (tmp_path / "usr/packages/autograder/__init__.py").touch()
    (tmp_path / "lib").symlink_to(tmp_path / "usr")
    libraries = [tmp_path / "usr", tmp_path / "lib"]
    monkeypatch.setattr(mounts, "_libraries", lambda: libraries)
    monkeypatch.setattr(mounts, "_package_folders", lambda: (tmp_path / "usr/packages",))
    return tmp_path


def hidden_in(command):
    """Return what the command covers by an empty folder or file."""
    folders = {place for option, place in pairwise(command) if option == "--remount-ro"}
    files = {place for source, place in pairwise(command) if source.endswith("/etc/empty")}
    return (folders | files) - {"/", "/dev", "/dev/zero"}  # memory that nobody counts


def test_what_is_private_is_hidden_wherever_it_is_mounted(mounted, no_cache):
    private = [mounted / "usr/course", mounted / "lib/packages/reference", mounted / "elsewhere"]
    private += [mounted / "usr/course/file.py", mounted / "usr/packages/single.py"]
    command = bubblewrap.bubblewrap_command(mounted, Limits(), 3, private)
    places = [f"{mounted}/usr", f"{mounted}/lib"]
    packages = [*(f"{place}/packages" for place in places), "/opt/packages/0"]
    assert hidden_in(command) == {
        *(f"{place}/course" for place in places),
        *(f"{place}/{name}" for place in packages for name in ("autograder", "reference")),
        *(f"{place}/single.py" for place in packages),
    }


def test_settings_of_programs_in_mounted_folders_are_hidden(mounted, tmp_path):
    (mounted / "usr/etc/jupyter").mkdir(parents=True)
    (mounted / "usr/etc/jupyter/nbgrader_config.py").write_text("c.CourseDirectory.db_url = ...")
    for name in ("pip.conf", ".condarc", ".npmrc"):
        (mounted / "usr" / name).write_text("password")
    secret = {mounted / "usr" / name for name in ("etc", "pip.conf", ".condarc", ".npmrc")}
    assert {Path(path) for path in mounts.readable_paths()}.isdisjoint({mounted / "usr", *secret})
    arguments = bubblewrap.bubblewrap_command(tmp_path, Limits(), 3)
    for path in secret:  # each by an empty folder or file over it
        assert str(path) in arguments
    assert secret <= set(map(Path, mounts.visible_names([])))  # which each start tries to read


def test_fonts_of_a_conda_environment_stay_beside_settings_that_are_hidden(mounted):
    for name in ("fonts", "jupyter", "conda"):
        (mounted / "usr/etc" / name).mkdir(parents=True)
        (mounted / "usr/etc" / name / "settings.conf").touch()
    (mounted / "usr/etc/linked").symlink_to(mounted / "usr/packages")
    hidden = {mounted / "usr/etc/jupyter", mounted / "usr/etc/conda"}
    assert {path for path in mounts.settings() if path.is_relative_to(mounted)} == hidden
    readable = set(map(Path, mounts.readable_paths()))
    assert mounted / "usr/etc/fonts" in readable
    assert readable.isdisjoint({mounted / "usr", mounted / "usr/etc", *hidden})


def test_link_beside_what_is_hidden_does_not_open_what_it_leads_to(mounted, tmp_path):
    (tmp_path / "grades").mkdir()
    (mounted / "usr/packages/linked").symlink_to(tmp_path / "grades")
    paths = mounts.readable_paths([mounted / "usr/course", mounted / "lib/packages/reference"])
    assert f"{mounted}/usr/packages/numpy" in paths
    assert f"{mounted}/usr/packages/linked" not in paths


def test_readable_paths_leave_out_what_is_private(mounted):
    paths = mounts.readable_paths([mounted / "usr/course", mounted / "lib/packages/reference"])
    assert set(paths) == {f"{mounted}/usr/packages/{name}" for name in ("numpy", "single.py")}


def test_packages_below_a_private_folder_hide_what_is_private_in_them(mounted, no_cache):
    """As in a repository that holds its own environment: the repository is not mounted there."""
    private = [mounted, mounted / "lib/packages/reference"]
    command = bubblewrap.bubblewrap_command(mounted, Limits(), 3, private)
    assert f"{mounted}/lib/packages/reference" in hidden_in(command)
    assert "/opt/packages/0/reference" in hidden_in(command)


@pytest.mark.parametrize(
    ("place", "reason"),
    [("usr/out", r"usr/out must be hidden .* does not exist yet"), ("usr", "needs to run")],
)
def test_what_cannot_be_hidden_is_refused(mounted, no_cache, place, reason):
    with pytest.raises(GraderError, match=reason):
        bubblewrap.bubblewrap_command(mounted, Limits(), 3, [mounted / place])
    with pytest.raises(GraderError, match=reason):
        mounts.readable_paths([mounted / place])


def test_folder_that_holds_mounted_ones_is_private_but_for_them(mounted):
    (mounted / "class").mkdir()
    names = mounts.visible_names([mounted])
    assert f"{mounted}/class" in names
    assert not {str(mounted), f"{mounted}/usr", f"{mounted}/lib"} & set(names)

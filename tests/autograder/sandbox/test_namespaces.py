"""Systems that keep user namespaces from bubblewrap, as Ubuntu does since 24.04."""

import os
import stat

import pytest

from autograder.sandbox import bubblewrap, doctor, namespaces, sandbox


@pytest.fixture
def system(monkeypatch, tmp_path):
    """Return a function that makes this an ordinary user's system with some settings."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(namespaces, "SETTINGS", tmp_path)

    def has(**settings):
        for name, value in settings.items():
            file = tmp_path / name.replace("__", "/")
            file.parent.mkdir(exist_ok=True)
            file.write_text(f"{value}\n")

    return has


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (
            {"kernel__apparmor_restrict_unprivileged_userns": 1},
            ["AppArmor", "bwrap-userns-restrict", "userns=0", "Dockerfile"],
        ),
        ({"kernel__unprivileged_userns_clone": 0}, ["userns_clone=1", "Dockerfile"]),
        ({"user__max_user_namespaces": 0}, ["max_user_namespaces=10000", "Dockerfile"]),
    ],
)
def test_setting_that_forbids_is_named_with_what_to_do(system, settings, named):
    system(**settings)
    why = namespaces.why_forbidden()
    assert all(words in why for words in named)


def test_nothing_is_said_of_a_system_that_allows_them_nor_to_root(system, monkeypatch):
    assert namespaces.why_forbidden() == ""
    system(
        kernel__apparmor_restrict_unprivileged_userns=0,
        kernel__unprivileged_userns_clone=1,
        user__max_user_namespaces=15000,
    )
    assert namespaces.why_forbidden() == ""
    system(kernel__apparmor_restrict_unprivileged_userns=1)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert namespaces.why_forbidden() == ""


def test_doctor_says_what_ubuntu_forbids_and_how_to_allow_it(system, monkeypatch, tmp_path, capsys):
    system(kernel__apparmor_restrict_unprivileged_userns=1)
    refused = tmp_path / "bwrap"  # answers as bubblewrap does there
    refused.write_text("#!/bin/sh\necho bwrap: setting up uid map: Permission denied >&2\nexit 1\n")
    refused.chmod(refused.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(bubblewrap, "_bubblewrap", lambda: str(refused))
    monkeypatch.setenv(sandbox.FORCE_TIER, "A")
    report = doctor.run_escape_attempts()
    doctor.print_report(report)
    printed = capsys.readouterr().out
    assert not report.ok
    assert "setting up uid map: Permission denied (kernel.apparmor_restrict" in printed
    assert "Ubuntu's own profile" in printed and "the course's container" in printed

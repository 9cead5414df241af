"""The wall as an ordinary user builds it: the attacks on it, run once more without being root."""

import os

import pytest

from tests.autograder.users import ATTACKS, NOBODY, run_tests

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.sandbox,
    pytest.mark.skipif(os.getuid() != 0, reason="these tests run as an ordinary user already"),
]


def test_attacks_are_stopped_where_an_ordinary_user_grades():
    printed = run_tests(NOBODY, *ATTACKS, AUTOGRADER_TIER="A")
    assert "skipped" not in printed


def test_attacks_are_stopped_where_an_ordinary_user_has_no_namespaces():
    printed = run_tests(NOBODY, *ATTACKS, AUTOGRADER_TIER="B")
    assert "1 skipped" in printed  # the data loader with processes of its own


def test_every_escape_attempt_is_stopped_where_an_ordinary_user_asks():
    run_tests(
        NOBODY,
        "tests/autograder/sandbox/test_doctor.py",
        "tests/autograder/inside/test_process_limits.py",
    )

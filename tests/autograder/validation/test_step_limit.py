"""Counting steps: code that ends counts the same everywhere, code that does not is stopped."""

import pytest

from autograder.validation.step_limit import NAME, EndlessError, StepCounter, compile_counted

SOURCE = """
def loops(n):
    for i in range(n):
        j = 0
        while j < i:
            j += 1
    return [k for k in range(n) if k != 1]

def recurses(n):
    return n and recurses(n - 1)

def endless():
    while True:
        try:
            raise KeyError
        except Exception:
            continue
"""


@pytest.fixture
def counted():
    """The functions of SOURCE, and what counts their steps."""
    counter = StepCounter()
    counter.start(1_000)
    namespace = {NAME: counter}
    exec(compile_counted(SOURCE), namespace)
    return namespace, counter


def test_steps_are_passes_of_loops_and_calls(counted):
    namespace, counter = counted
    assert namespace["loops"](5) == [0, 2, 3, 4]
    assert counter.steps == 1 + 5 + (0 + 1 + 2 + 3 + 4) + 5
    counter.start(1_000)
    assert namespace["recurses"](7) == 0
    assert counter.steps == 8


def test_code_is_stopped_at_the_limit_and_stays_stopped(counted):
    namespace, counter = counted
    for _ in range(2):
        with pytest.raises(EndlessError, match="more than 1000 steps"):
            namespace["endless"]()
        assert counter.is_over
    counter.start(5)
    assert namespace["recurses"](4) == 0 and not counter.is_over
    with pytest.raises(EndlessError):
        namespace["recurses"](0)

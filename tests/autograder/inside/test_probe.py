import random

import numpy as np
import torch

from autograder.inside.messages import Failure, ProbeRequest, WireError
from autograder.inside.probe import call_probe, describe, failure_of, probe_or_failure, seed_of

SOURCE = (
    "def helper(x):\n    return x + 1\n\ndef probe(f, inputs):\n    return helper(f(inputs['x']))\n"
)


def request(**changes):
    fields = dict(item="i", part="p", case=0, target="f", source=SOURCE, inputs={"x": 2}, seconds=1)
    return ProbeRequest(**(fields | changes))


def test_last_function_of_the_source_is_the_probe():
    assert call_probe(SOURCE, lambda x: x * 10, {"x": 2}, seed=0) == 21


def test_probe_seeds_every_global_generator():
    source = (
        "def probe(f, inputs):\n    import random, numpy, torch\n"
        "    return random.random(), numpy.random.rand(), torch.rand(1).item()\n"
    )
    first = call_probe(source, None, {}, seed=5)
    assert call_probe(source, None, {}, seed=5) == first != call_probe(source, None, {}, seed=6)
    expected = random.Random(5).random(), np.random.RandomState(5).rand()
    assert first[:2] == expected
    assert first[2] == torch.rand(1, generator=torch.Generator().manual_seed(5)).item()


def test_seed_differs_between_cases():
    seeds = {seed_of(request(case=case, part=part)) for case in range(5) for part in "pq"}
    assert len(seeds) == 10


def test_missing_target_is_a_failure():
    assert probe_or_failure(request(), {}) == Failure("missing", "f is not defined")


def test_what_student_code_raises_is_a_failure():
    notebook = {}
    exec("def f(x):\n    raise SystemExit(3)", notebook)
    assert probe_or_failure(request(), notebook) == Failure("exception", "SystemExit: 3")


def test_what_only_the_probe_trips_over_is_told_apart():
    notebook = {}
    exec("def f():\n    return None", notebook)  # takes no argument, so the call itself fails
    assert probe_or_failure(request(), notebook).kind == "unusable"


def test_failures_are_told_apart():
    assert failure_of(MemoryError()).kind == "memory"
    assert failure_of(RuntimeError("DefaultCPUAllocator: can't allocate")).kind == "memory"
    assert failure_of(WireError("a value of type A is not plain data")).kind == "refused"


def test_exception_is_described_in_one_line():
    class HostileError(Exception):
        def __str__(self):
            raise KeyboardInterrupt

    assert describe(ValueError("a\n  b")) == "ValueError: a b"
    assert describe(HostileError()) == "HostileError: (its text cannot be shown)"
    assert len(describe(ValueError("x" * 10_000))) == 500

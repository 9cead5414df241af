"""Student code calls implementations that it never meets."""

import textwrap

import pytest

from autograder.authoring.checks import Case, Check, Part
from autograder.authoring.judging import CHANCE, RIGHT, WRONG, tell, told
from autograder.grading.grader import in_unforeseen_order
from autograder.grading.judge import ItemJudge
from autograder.inside.messages import Failure, ProbeRequest
from autograder.inside.process_limits import Limits
from autograder.records import GraderError
from autograder.sandbox.sandbox import Sandbox
from autograder.sandbox.submission_run import _encoded

pytestmark = pytest.mark.sandbox

HALVES = ("def partner(x):\n    return x / 2", "def partner(x):\n    return x * 0.5")
OTHERS = (
    "def partner(x):\n    return x // 2",
    "def partner(x):\n    return x",
    "def partner(x):\n    return 2 / x",
)
SECONDS = 0.5


def part(name, says, source, weight):
    return Part(name, says, lambda rng: [Case(name, {})], tell, told, weight, partner=source)


PARTS = (
    *(part(f"right {n}", RIGHT, source, 1 / 2) for n, source in enumerate(HALVES)),
    *(part(f"wrong {n}", WRONG, source, 1 / 3) for n, source in enumerate(OTHERS)),
)


def right_test(implementation):
    try:
        return implementation(3) == 1.5
    except Exception:
        return False


CHECK = Check("judge_half", 6, "judge", right_test, PARTS, seconds=SECONDS, chance=CHANCE)
GOOD = """
def judge(implementation):
    return implementation(3) == 1.5
"""


@pytest.fixture(scope="module")
def sandbox():
    """Its limits are of computing; by the clock, nothing that goes well ends on a busy machine."""
    limits = Limits(cell_seconds=2, submission_seconds=30, wall_factor=30)
    with Sandbox(limits=limits, libraries=()) as sandbox:
        yield sandbox


def ask(sandbox, cell, *partners, seconds=SECONDS):
    """Run a student's test on some implementations; return what it says of each, and the run."""
    requests = [
        ProbeRequest("i", f"part {n}", 0, "judge", part_source(), {}, seconds, (), partner)
        for n, partner in enumerate(partners)
    ]
    run = sandbox.run([textwrap.dedent(cell)], requests)
    return [seen.value for seen in run.observations], run


def part_source():
    return PARTS[0].probe_source


def grade(sandbox, cell):
    """Return the points and the run of a submission that is this cell."""
    judge = ItemJudge()
    requests = in_unforeseen_order(judge.requests(CHECK, 1), 1, [cell])
    run = sandbox.run([textwrap.dedent(cell)], requests)
    return judge.verdict(CHECK, 1, run.observations), run


def test_each_implementation_that_is_told_rightly_counts(sandbox):
    verdict, run = grade(sandbox, GOOD)
    assert verdict.points == 6 and not run.problems
    verdict, _ = grade(sandbox, "def judge(f):\n    return f(4) == 2")
    missed = [part for part in verdict.parts if not part.passed]
    assert verdict.points == 4 and [part.part for part in missed] == ["wrong 0"]
    assert missed[0].message == f"{WRONG} With wrong 0: your test accepts it."
    verdict, _ = grade(sandbox, "def judge(f):\n    return f(3) == 1.5 and f(4.0) is f(4.0)")
    assert verdict.points == 0  # it refuses all


def test_what_the_implementation_raises_first_refuses_it_and_what_the_test_raises_does_not(sandbox):
    values, run = ask(sandbox, "def judge(f):\n    return f(0) == 0", *HALVES, *OTHERS)
    assert values == [True, True, True, True, False] and not run.tampered
    own = """
    def judge(f):
        try:
            return f(0) == 0
        except ZeroDivisionError:
            raise ZeroDivisionError
    """
    (value,), _ = ask(sandbox, own, OTHERS[2])
    assert value == Failure("exception", "ZeroDivisionError")


def test_a_partner_that_waits_for_a_core_costs_the_student_no_time():
    """Once, at a load of 70, a right test was ended by the clock while it waited for answers."""
    test = "def judge(f):\n    return sum(f(n) for n in range(16)) == 60"
    waits = "import time\n\ndef partner(x):\n    time.sleep(0.05)\n    return x / 2"
    with Sandbox(limits=Limits(wall_factor=5), libraries=()) as sandbox:
        values, run = ask(sandbox, test, waits, seconds=0.1)  # 0.5 by the clock
        assert values == [True] and not run.problems
        asleep = "import time\n\ndef judge(f):\n    f(1)\n    time.sleep(9)\n    return f(1) == 0.5"
        ((value,), _) = ask(sandbox, asleep, waits, seconds=0.1)
        assert value.kind == "waiting"


@pytest.mark.parametrize(
    "said", ["True", "False", "None", "1", "'True'", "f(3)", "f()", "1 / 0"], ids=lambda said: said
)
def test_whoever_says_always_the_same_earns_nothing(sandbox, said):
    assert grade(sandbox, f"def judge(f):\n    return {said}")[0].points == 0


def test_values_cross_as_copies_and_of_an_exception_its_type(sandbox):
    test = """
    import numpy as np

    def judge(f):
        given = [1, 2, 3]
        said = [f(given), given, f(given, by=2), f({"a": (1, b"x")}), f(np.arange(3)).tolist()]
        for wrong in ({1}, "key"):
            try:
                f(wrong)
            except Exception as error:
                said.append((type(error).__name__, str(error)))
        return said
    """
    partner = """
def partner(x, by=1):
    if isinstance(x, set):
        raise type("Own", (Exception,), {})("secret")
    if isinstance(x, str):
        raise KeyError("secret")
    if isinstance(x, list):
        x.append(by)
    return x
"""
    (said,), run = ask(sandbox, test, partner)
    assert said == [
        [1, 2, 3, 1],
        [1, 2, 3],
        [1, 2, 3, 2],
        {"a": (1, b"x")},
        [0, 1, 2],
        ("RuntimeError", "the implementation raises"),
        ("KeyError", ""),
    ]
    assert not run.tampered


def test_calls_of_one_run_share_a_process_and_those_of_two_do_not(sandbox):
    counts = "n = 0\ndef partner():\n    global n\n    n += 1\n    return n"
    test = """
    import builtins, os

    def judge(f):
        had = getattr(builtins, "left", None)
        builtins.left = f(), f()
        return had, builtins.left
    """
    assert ask(sandbox, test, counts, counts)[0] == [(None, (1, 2))] * 2


def test_what_is_sent_does_not_say_which_implementation_it_is():
    requests = ItemJudge().requests(CHECK, 5)
    assert len({_encoded(request, True) for request in requests}) == 1
    assert all(source.encode() not in _encoded(requests[0], True) for source in HALVES)


def test_order_is_another_for_another_notebook_and_the_same_for_the_same():
    requests = ItemJudge().requests(CHECK, 5)
    orders = {
        tuple(one.part for one in in_unforeseen_order(requests, seed, [str(cell)]))
        for seed in range(3)
        for cell in range(30)
        for _ in range(2)
    }
    assert 45 < len(orders) <= 90
    assert all(sorted(order) == sorted(one.part for one in requests) for order in orders)


SEARCH = r'''
import gc, glob, os, sys

KRAM = b"1174-REKRAM"  # turned round, or the search would find itself


def texts():
    """All that can be read here: frames, objects, other processes, and files."""
    frame = sys._getframe()
    while frame is not None:
        yield repr(frame.f_locals).encode()
        frame = frame.f_back
    for thing in gc.get_objects():
        if type(thing) in (dict, list, tuple):
            for inner in gc.get_referents(thing):
                if type(inner) is str:
                    yield inner.encode("utf-8", "replace")
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ"):
        try:
            yield open(path, "rb").read()
        except OSError:
            pass
    for path in glob.glob("/tmp/*") + glob.glob("/dev/shm/*") + glob.glob("*"):
        try:
            yield open(path, "rb").read()
        except OSError:
            pass


def judge(implementation):
    import traceback

    cells = [cell.cell_contents for cell in implementation.__closure__ or ()]

    value = implementation(CALL)
    try:
        implementation()
    except TypeError as error:
        said = "".join(traceback.format_exception(error)).encode()
    return [KRAM[::-1] in said, any(KRAM in text[::-1] for text in texts())]
'''


@pytest.mark.parametrize("call", ["1", "0"])
def test_search_of_everything_finds_no_source(sandbox, call):
    """What the implementation gives out is found, so the search works; its source is not."""
    partner = 'def partner(x):\n    """MARKER-4711"""\n    return partner.__doc__ if x else None'
    (found,), run = ask(sandbox, SEARCH.replace("CALL", call), partner, seconds=10.0)
    assert found == [False, call == "1"], run.cells[0].error


FLOODS = {
    "more calls than are allowed": (
        "def judge(f):\n    for _ in range(400): f(1)\n    return True",
        Failure("exception", "RuntimeError: a test may call the implementation 200 times"),
    ),
    "an argument that is too large": (
        "def judge(f):\n    return f(bytes(5 << 20)) is None",
        "refused",
    ),
    "an argument that does not travel": ("def judge(f):\n    return f(f) is None", "refused"),
    "it never ends": ("def judge(f):\n    while True: pass", "timeout"),
    "it never ends and calls": (
        "def judge(f):\n    while True:\n        try: f(1)\n        except RuntimeError: pass",
        "timeout or waiting",  # the grader's answers take it time, on a busy machine the most
    ),
    "it ends the process": ("def judge(f):\n    f(1)\n    import os; os._exit(77)", "refused"),
}


@pytest.mark.parametrize("flood", FLOODS)
def test_one_that_misbehaves_costs_that_judgement_alone(sandbox, flood):
    cell, due = FLOODS[flood]
    cell = f"{cell}\ndef other(f):\n    return f(3) == 1.5\n"
    first = ProbeRequest("i", "a", 0, "judge", part_source(), {}, SECONDS, (), HALVES[0])
    then = ProbeRequest("j", "b", 0, "other", part_source(), {}, SECONDS, (), HALVES[1])
    seen = [one.value for one in sandbox.run([cell], [first, then]).observations]
    assert seen[1] is True
    assert seen[0] == due or seen[0].kind in due.split(" or ")


def test_questions_beyond_the_limit_are_tampering(sandbox):
    cell = """
    import sys

    def judge(f):
        frame = sys._getframe()
        while "namespace" not in frame.f_locals or "ask" not in frame.f_locals["namespace"]:
            frame = frame.f_back
        ask = frame.f_locals["namespace"]["ask"]
        for _ in range(300):
            ask(((1,), {}))
        return True
    """
    values, run = ask(sandbox, cell, HALVES[0])
    assert run.tampered and values[0] is not True


@pytest.mark.parametrize("question", ["1", "((), 1)", "((), {1: 2})", "'source'", "None"])
def test_question_that_is_no_call_is_tampering_and_reaches_nothing(sandbox, question):
    cell = f"""
    import sys

    def judge(f):
        frame = sys._getframe()
        while "namespace" not in frame.f_locals or "ask" not in frame.f_locals["namespace"]:
            frame = frame.f_back
        return frame.f_locals["namespace"]["ask"]({question})
    """
    values, run = ask(sandbox, cell, HALVES[0])
    assert run.tampered and isinstance(values[0], Failure)


MALFORMED = {
    "no message": (b"", b'["dict",["list","ask"],["list",'),
    "an unknown dtype": (b"12345678", b'["dict",["list","ask"],["list",["array","float99",1]]]'),
    "two answers in one": (b"", b'["dict",["list","ask"],["list",1,2]]'),
    "bytes beyond what may be asked": (bytes(5 << 20), b'["dict",["list","ask"],["list",1]]'),
    "a source to define": (b"", b'["dict",["list","define"],["list","def partner(x): return 1"]]'),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_question_that_student_code_writes_itself_is_tampering(sandbox, kind):
    """The grader passes questions on unread, so whoever reads them is as strict as it would be."""
    body, header = MALFORMED[kind]
    cell = f"""
    import struct, sys

    def judge(f):
        frame = sys._getframe()
        while not hasattr(frame.f_locals.get("self"), "channel"):
            frame = frame.f_back
        channel = frame.f_locals["self"].channel
        header = {header!r}
        channel.sendall(struct.pack(">IQ", len(header), {len(body)}) + header + bytes({len(body)}))
        return True
    """
    other = "def partner(x):\n    return x + 5"
    values, run = ask(sandbox, cell, HALVES[0])
    assert run.tampered and isinstance(values[0], Failure)
    assert ask(sandbox, "def judge(f):\n    return f(3)", other)[0] == [8]


def test_random_numbers_of_an_implementation_are_the_same_in_every_run(sandbox):
    draws = "import random\nimport numpy as np\ndef partner():\n"
    draws += "    return random.random(), np.random.rand()"
    values, _ = ask(sandbox, "def judge(f):\n    return f(), f()", draws, draws)
    assert values[0] == values[1] and values[0][0] != values[0][1]


def test_implementation_that_cannot_be_defined_is_a_fault_of_the_set(sandbox):
    with pytest.raises(GraderError, match=r"a hidden implementation breaks.*NameError"):
        ask(sandbox, "def judge(f):\n    return f(3)", "partner = undefined")


HOGS = {
    "time": "def partner(x):\n    while x == 0: pass\n    return x / 2",
    "memory": "def partner(x):\n    return x / 2 if x else [bytes(1 << 28) for _ in range(999)]",
    "its process": "import os\ndef partner(x):\n    return x / 2 if x else os._exit(0)",
    "a result that does not travel": "def partner(x):\n    return x / 2 if x else partner",
}


@pytest.mark.parametrize("hog", HOGS)
def test_implementation_that_is_driven_to_its_end_raises_and_the_next_one_is_well(sandbox, hog):
    cell = """
    def judge(f):
        try:
            f(0)
        except Exception as error:
            return type(error).__name__
        return f(3)
    """
    values, run = ask(sandbox, cell, HOGS[hog], "def partner(x):\n    return x + 5", HOGS[hog])
    assert values[0] in ("RuntimeError", "MemoryError") and values[1] == 8
    assert values[2] == values[0]
    assert not run.tampered


def test_implementations_that_answer_alike_are_met_once_however_many_they_are(sandbox):
    """So a plurality among them, which would tell the right ones, cannot be seen."""
    cell = """
    import os

    def judge(f):
        answers = [f(3), f(4)] if f(3) == 1.5 else []
        with open("/tmp/met", "a+") as file:
            file.write(repr(answers) + "\\n")
            file.seek(0)
            return file.read()
    """
    same = ["def partner(x):\n    return x / 2", "def partner(x):\n    return x * 0.5"]
    other = ["def partner(x):\n    return x // 2", "def partner(x):\n    return 1.5"]
    values, _ = ask(sandbox, cell, same[0], other[0], same[1], other[1], same[0], other[0])
    met = ["[1.5, 2.0]\n", "[1.5, 2.0]\n[]\n", "[1.5, 2.0]\n[]\n[1.5, 1.5]\n"]
    assert values == [met[0], met[1], met[0], met[2], met[0], met[1]]


@pytest.mark.parametrize("first", ["f(3)", "f(4)", "None"])
def test_each_is_judged_as_if_it_were_alone(sandbox, first):
    cell = f"""
    def judge(f):
        {first}
        try:
            return all(f(x) == x / 2 for x in (0, 4, 3))
        except ZeroDivisionError:
            return "zero"
    """
    partners = [*HALVES, *OTHERS, *HALVES, *OTHERS, "def partner(x):\n    return x / 2 + (x == 3)"]
    alone = [ask(sandbox, cell, partner)[0][0] for partner in partners]
    assert ask(sandbox, cell, *partners)[0] == alone
    assert len(set(alone)) == 3


def test_test_that_does_not_repeat_itself_is_judged_by_what_it_says(sandbox):
    cell = """
    import os

    def judge(f):
        with open("/tmp/n", "a+") as file:
            file.write("x")
            file.seek(0)
            n = len(file.read())
        return [f(n), f(3)]
    """
    plus = ["def partner(x):\n    return x + 5", "def partner(x):\n    return x + 6"]
    values, run = ask(sandbox, cell, *plus, *plus)
    assert values == [[6, 8], [8, 9], [6, 8], [9, 9]] and not run.tampered


def test_test_that_never_ends_costs_its_time_once(sandbox):
    values, run = ask(sandbox, "def judge(f):\n    while True: pass", *HALVES, *OTHERS)
    assert [value.kind for value in values] == ["timeout"] * 5
    assert len([one for one in run.observations if one.seconds > SECONDS / 2]) == 1


def test_whoever_counts_the_runs_knows_nothing(sandbox):
    """Files of one submission are its own to read; the order of the runs is another for each."""
    cell = """
    import os

    def judge(f):
        with open("/tmp/count", "a+") as file:
            file.write("x")
            file.seek(0)
            n = len(file.read())
        return n % 2 == 0
    """
    points = [grade(sandbox, cell + f"\n# {n}\n")[0].points for n in range(4)]
    assert max(points) < 6

"""The task "the learning rate"."""

import math

import torch  # noqa: F401  (read by a replacement)

from autograder.authoring.checks import Case, Check, Inputs, Part, mistake, mistakes
from autograder.authoring.compare import agree, saying
from course_pkg.training.schedules import cosine_schedule

from ..tensors import Generator

# -- inputs ----------------------------------------------------------------------------------------


def _case(
    rng: Generator,
    n_warmup: int,
    n_steps: int,
    steps: list[int],
    final: float = 0.3,
    what: str = "",
) -> Case:
    """Make a case whose final rate is a share of the peak; the peak is drawn."""
    peak = float(rng.uniform(0.5, 1.5))
    label = f"{n_warmup} updates of warm-up, {n_steps} in all{what}, steps {steps}"
    return Case(label, {"steps": steps, "rest": [peak, final * peak, n_warmup, n_steps]})


def draw_warmups(rng: Generator) -> list[Case]:
    """Steps of the warm-up."""
    return [_case(rng, n, n_steps, list(range(n))) for n, n_steps in [(2, 9), (5, 12), (8, 10)]]


def draw_cosines(rng: Generator) -> list[Case]:
    """Steps between the peak and the last update."""
    runs = [(0, 6), (2, 9), (5, 16), (20, 100)]
    return [_case(rng, n, n_steps, list(range(n + 1, n_steps - 1))) for n, n_steps in runs]


def draw_peaks(rng: Generator) -> list[Case]:
    """The last update of the warm-up and the one after it; the first where there is none."""
    return [
        _case(rng, 4, 11, [3, 4]),
        _case(rng, 1, 7, [0, 1]),
        _case(rng, 0, 5, [0]),
        _case(rng, 300, 1000, [299, 300]),
    ]


def draw_ends(rng: Generator) -> list[Case]:
    """The last update, and what comes later."""
    runs = [(0, 4), (3, 10), (7, 9)]
    return [
        _case(rng, n, n_steps, [n_steps - 1, n_steps, n_steps + 1, 2 * n_steps, 10**6])
        for n, n_steps in runs
    ]


def draw_extremes(rng: Generator) -> list[Case]:
    """The shortest runs, a final rate of 0 or of the peak, and rates of 0."""
    still = Case("all rates 0", {"steps": [0, 1, 3, 5, 9], "rest": [0.0, 0.0, 3, 7]})
    return [
        _case(rng, 0, 2, [0, 1, 2], what=": the shortest run"),
        _case(rng, 3, 5, list(range(6)), what=": the shortest fall"),
        _case(rng, 2, 9, list(range(12)), 0.0, ", final rate 0"),
        _case(rng, 2, 9, list(range(12)), 1.0, ", final rate the peak"),
        _case(rng, 100_000, 10_000_000, [0, 99_999, 5_000_000, 9_999_999], 0.1, ": a long run"),
        # No memory has room for a tensor of so many rates.
        _case(rng, 100_000, 10**15, [0, 99_999, 10**15 // 2, 10**15 - 1], 0.1, ": a longer run"),
        Case("small rates", {"steps": list(range(12)), "rest": [6e-5, 6e-6, 2, 10]}),
        still,
    ]


def draw_some(rng: Generator) -> list[Case]:
    """Steps of every kind."""
    return [_case(rng, 3, 9, list(range(12))), _case(rng, 0, 6, list(range(8)), 0.0)]


# -- probes ----------------------------------------------------------------------------------------


def rates(implementation, inputs):
    """Return the rate of each step."""
    return [float(implementation(step, *inputs["rest"])) for step in inputs["steps"]]


def rates_at_once(implementation, inputs):
    """Return the rate of each step, or "through the run" where one takes thousands of lines."""
    import sys

    n_lines = 0

    def count(frame, event, argument):
        nonlocal n_lines
        n_lines += 1
        if n_lines > 5000:
            raise TimeoutError
        return count

    found, before = [], sys.gettrace()
    for step in inputs["steps"]:
        n_lines = 0
        sys.settrace(count)
        try:
            found.append(float(implementation(step, *inputs["rest"])))
        except TimeoutError:
            return "through the run"
        finally:
            sys.settrace(before)
    return found


def form(implementation, inputs):
    """Return whether rates are floats, and the same again."""
    steps, rest = inputs["steps"], inputs["rest"]
    found = [implementation(step, *rest) for step in steps]
    again = [implementation(step, *rest) for step in reversed(steps)]
    return [isinstance(rate, float) for rate in found], found == again[::-1]


# -- the reference version -------------------------------------------------------------------------


def learning_rate(step: int, peak: float, final: float, n_warmup: int, n_steps: int) -> float:
    """Ask the package's schedule, whose final rate is a share of the peak."""
    share = final / peak if peak else 1.0
    schedule = cosine_schedule(peak, n_warmup=n_warmup, n_steps=n_steps, final_fraction=share)
    return schedule(step)


# -- parts -----------------------------------------------------------------------------------------

_same = agree(rtol=1e-9, atol=1e-15)


def _same_at_once(observed: object, expected: object, inputs: Inputs) -> str | None:
    if type(observed) is str and observed == "through the run":
        return "for one rate it goes through thousands of updates of the run"
    return _same(observed, expected, inputs)


PARTS = (
    Part(
        "warm-up",
        "Over n_warmup updates the rate rises linearly, from peak / n_warmup to the peak.",
        draw_warmups,
        rates,
        judge=_same,
        weight=3,
    ),
    Part(
        "cosine",
        "Then it falls along half a cosine, which ends at the last update of the run.",
        draw_cosines,
        rates,
        judge=_same,
        weight=4,
    ),
    Part(
        "peak",
        "The last update of the warm-up has the peak, and so has the first one after it.",
        draw_peaks,
        rates,
        judge=_same,
        weight=1,
    ),
    Part(
        "end",
        "The last update of the run has the final rate, and so have all later ones.",
        draw_ends,
        rates,
        judge=_same,
        weight=1.5,
    ),
    Part(
        "extremes",
        "The shortest run, a long one, and final rates of 0 and of the peak will do.",
        draw_extremes,
        rates_at_once,
        judge=_same_at_once,
        weight=1,
    ),
    Part(
        "form",
        "The result is a float, the same for the same arguments; torch's settings stay.",
        draw_some,
        form,
        judge=saying("a rate is no float", "asked again, a step has another rate"),
        weight=0.5,
        earns_alone=False,
        keeps_process=True,
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(step, peak, final, n_warmup, n_steps):
    """The answer that the mistakes start from."""
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = min((step - n_warmup) / (n_steps - 1 - n_warmup), 1.0)
    height = (1 + math.cos(math.pi * x)) / 2
    return final + (peak - final) * height


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The warm-up begins at 0.",
        replace={"peak * (step + 1) / n_warmup": "peak * step / n_warmup"},
        hint="Your first rate is 0, so the first batch is read for nothing. `step` counts the "
        "updates that *have been* done: the next one is number step + 1.",
    ),
    mistake(
        "The warm-up reaches the peak one update late.",
        replace={"peak * (step + 1) / n_warmup": "peak * (step + 1) / (n_warmup + 1)"},
        hint="You divide by n_warmup + 1, so the last update of the warm-up has less than the "
        "peak. There are n_warmup updates in it, and the last has all.",
    ),
    mistake(
        "The warm-up begins at the final rate.",
        replace={
            "peak * (step + 1) / n_warmup": ("final + (peak - final) * (step + 1) / n_warmup")
        },
        hint="You let the warm-up rise from the final rate. Its line would meet 0 one update "
        "before the first: the first rate is peak / n_warmup.",
    ),
    mistake(
        "The cosine ends one update after the last.",
        replace={"(n_steps - 1 - n_warmup)": "(n_steps - n_warmup)"},
        hint="Your last update has more than the final rate. The last of n_steps updates is made "
        "when n_steps - 1 have been done: count the fence posts.",
        keeps=0.5,
    ),
    mistake(
        "The cosine counts from the beginning of the run.",
        replace={"(step - n_warmup) / (n_steps - 1 - n_warmup)": "step / (n_steps - 1)"},
        hint="You take x from the beginning of the run, so the rate jumps down where the warm-up "
        "ends. x is 0 there: subtract n_warmup, above and below the line.",
        keeps=0.5,
    ),
    mistake(
        "The cosine falls to 0, whatever the final rate is.",
        replace={"final + (peak - final) * height": "peak * height"},
        hint="Your cosine falls to 0. It falls from the peak to the final rate: `final` is where "
        "it ends, and the rest of the way is peak - final.",
        keeps=0.5,
    ),
    mistake(
        "The final rate is added to a cosine of full height.",
        replace={"final + (peak - final) * height": "final + peak * height"},
        hint="You add the final rate to a cosine as high as the peak, so you begin above the peak. "
        "The cosine's own height is peak - final.",
    ),
    mistake(
        "The final rate is taken as a share of the peak.",
        replace={"final + (peak - final) * height": "peak * (final + (1 - final) * height)"},
        hint="You take `final` as a fraction of the peak. It is a rate itself, in the same unit as "
        "`peak`.",
    ),
    mistake(
        "The cosine is cut off at the final rate.",
        replace={"final + (peak - final) * height": "max(final, peak * height)"},
        hint="You let the cosine fall towards 0 and stop it at the final rate, so it gets there "
        "early. Squeeze it instead: it falls from peak to final over the whole way.",
    ),
    mistake(
        "The rate falls in a line.",
        replace={"(1 + math.cos(math.pi * x)) / 2": "1 - x"},
        hint="You let the rate fall in a line. Half a cosine stays high at first and lands softly: "
        "(1 + cos of pi x) / 2.",
    ),
    mistake(
        "The cosine is not moved up.",
        replace={"(1 + math.cos(math.pi * x)) / 2": "math.cos(math.pi * x / 2)"},
        hint="You use a quarter of a cosine wave. It ends in full fall; half a wave, moved up and "
        "halved, lands level: (1 + cos of pi x) / 2.",
    ),
    mistake(
        "The cosine goes down and up again.",
        replace={"math.cos(math.pi * x)": "math.cos(2 * math.pi * x)"},
        hint="You use a whole wave: the rate is back at the peak in the end. Half a wave, up to "
        "pi, goes down only.",
    ),
    mistake(
        "Beyond the last update the rate rises again.",
        replace={
            "min((step - n_warmup) / (n_steps - 1 - n_warmup), 1.0)": (
                "(step - n_warmup) / (n_steps - 1 - n_warmup)"
            )
        },
        hint="After the last update your cosine goes on, and so it rises again. Later updates keep "
        "the final rate: x is at most 1.",
    ),
    mistake(
        "Beyond the last update the rate is 0.",
        replace={"if step < n_warmup:": "if step >= n_steps:\n    return 0.0\nif step < n_warmup:"},
        hint="You return 0 after the last update of the run. The contract says that the rate stays "
        "at `final`.",
    ),
    mistake(
        "There is always one update of warm-up.",
        replace={
            "if step < n_warmup:": """
                n_warmup = max(n_warmup, 1)
                if step < n_warmup:
            """
        },
        hint="You make one update of warm-up where none is asked for, and so the cosine begins one "
        "update late. If n_warmup is 0, it begins at step 0.",
    ),
    mistake(
        "The first update after the warm-up belongs to it.",
        replace={"if step < n_warmup:": "if step <= n_warmup and n_warmup:"},
        hint="You count one update too many as warm-up, and give it more than the peak. The "
        "warm-up has n_warmup updates: steps 0 to n_warmup - 1.",
    ),
    mistake(
        "The rate is computed in float32.",
        replace={
            "height = (1 + math.cos(math.pi * x)) / 2": (
                "height = float(1 + torch.cos(math.pi * torch.tensor(x, dtype=torch.float32))) / 2"
            )
        },
        hint="Your rates are right to 7 digits, which is what float32 has. Python's own floats "
        "have 16: `math.cos` is enough for one number.",
    ),
    mistake(
        "All updates of the run are gone through.",
        replace={"if step < n_warmup:": "for _ in range(n_steps):\n    pass\nif step < n_warmup:"},
        hint="Your rates are right, but for one of them you go through all updates of the run, and "
        "a long run has many millions. Compute the one that is asked for.",
    ),
    mistake(
        "The result is a tensor.",
        replace={
            "final + (peak - final) * height": (
                "torch.tensor(final + (peak - final) * height, dtype=torch.float64)"
            )
        },
        hint="You return a tensor where the contract has a float. A schedule computes one number: "
        "Python's own `math` is enough.",
    ),
)

CHECK = Check(
    item="ps6_learning_rate",
    points=10,
    target="learning_rate",
    reference=learning_rate,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)

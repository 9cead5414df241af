"""The task "count the parameters"."""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import torch

from autograder.authoring.checks import Case, Check, Inputs, Part, mistake, mistakes
from autograder.authoring.compare import agree, saying
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer import count_parameters as count
from course_pkg.models.transformer_config import TransformerConfig

from ..tensors import Generator, near_part

# -- inputs ----------------------------------------------------------------------------------------

Config = dict[str, Any]


def gpt2(d_model: int = 768, n_heads: int = 12, n_layers: int = 12, **changes: Any) -> Config:
    """Write GPT-2's structure as the task has it; small by default."""
    return {
        "vocab_size": 50_257,
        "context_length": 1024,
        "d_model": d_model,
        "n_layers": n_layers,
        "n_heads": n_heads,
        "n_kv_heads": n_heads,
        "d_ff": 4 * d_model,
        "positions": "learned",
        "norm": "layer",
        "activation": "gelu",
        "has_bias": True,
        "is_tied": True,
        **changes,
    }


def llama(d_model: int = 4096, n_layers: int = 32, d_ff: int = 11_008, **changes: Any) -> Config:
    """Write LLaMA's structure as the task has it; the first, of 7 billion, by default."""
    return {
        **gpt2(d_model, 32, n_layers),
        "vocab_size": 32_000,
        "context_length": 2048,
        "d_ff": d_ff,
        "positions": "rotary",
        "norm": "rms",
        "activation": "swiglu",
        "has_bias": False,
        "is_tied": False,
        **changes,
    }


PUBLISHED = {
    "GPT-2 small": (gpt2(), 124_439_808),
    "GPT-2 medium": (gpt2(1024, 16, 24), 354_823_168),
    "GPT-2 XL": (gpt2(1600, 25, 48), 1_557_611_200),
    "LLaMA 7B": (llama(), 6_738_415_616),
    "Llama 2 70B": (llama(8192, 80, 28_672, n_heads=64, n_kv_heads=8), 68_976_648_192),
    "Mistral 7B": (llama(d_ff=14_336, n_kv_heads=8), 7_241_732_096),
}
"""Configs and how many parameters the published weights have."""


def _small(rng: Generator, **changes: Any) -> Config:
    """Draw a small GPT-2 whose numbers all differ, so that none can stand for another."""
    n_heads = int(rng.integers(3, 6))
    d_model = n_heads * 2 * int(rng.integers(6, 12))
    config = gpt2(
        d_model,
        n_heads,
        n_layers=int(rng.integers(2, 5)),
        vocab_size=int(rng.integers(300, 900)),
        context_length=int(rng.integers(100, 200)),
        d_ff=3 * d_model + int(rng.integers(1, 40)),
    )
    return {**config, "n_kv_heads": changes.get("n_heads", n_heads), **changes}


def _case(label: str, config: Config) -> Case:
    return Case(label, {"config": config})


def _change(rng: Generator, label: str, **changes: Any) -> Case:
    """Draw a small GPT-2, and the same with changes."""
    before = _small(rng)
    if "n_heads" in changes:
        before = {**before, **changes, "n_kv_heads": changes["n_heads"], "has_bias": True}
    inputs = {"before": before, "after": {**before, **changes}}
    return Case(label, inputs)


def draw_layers(rng: Generator) -> list[Case]:
    """Small GPT-2s, which become deeper."""
    return [
        _change(rng, "5 layers, and then 6", n_layers=5),
        _change(rng, "one layer", n_layers=1),
        _change(rng, "21 layers", n_layers=21),
    ]


def draw_gpt2(rng: Generator) -> list[Case]:
    """GPT-2 as published, and smaller ones; one layer and one head among them."""
    return [
        _case("a small GPT-2", _small(rng)),
        _case("another small GPT-2", _small(rng)),
        _case("a GPT-2 of one layer and one head", _small(rng, n_layers=1, n_heads=1, d_model=10)),
        *(_case(name, PUBLISHED[name][0]) for name in ("GPT-2 small", "GPT-2 medium", "GPT-2 XL")),
    ]


def draw_tables(rng: Generator) -> list[Case]:
    """Tables that are tied or not, learned positions or computed ones."""
    return [
        _change(rng, "a second table for the output", is_tied=False),
        _change(rng, "rotary positions", positions="rotary"),
        _change(rng, "sinusoidal positions", positions="sinusoidal"),
        _change(rng, "no positions", positions="none"),
        _change(rng, "two tables, rotary positions", is_tied=False, positions="rotary"),
    ]


def draw_norms(rng: Generator) -> list[Case]:
    """RMSNorm, and no biases."""
    return [
        _change(rng, "RMSNorm, with biases elsewhere", norm="rms"),
        _change(rng, "LayerNorm, without biases", has_bias=False),
        _change(rng, "RMSNorm, without biases", norm="rms", has_bias=False),
    ]


def draw_gates(rng: Generator) -> list[Case]:
    """Gated feed-forward layers, and others that are not."""
    return [
        _change(rng, "SwiGLU", activation="swiglu"),
        _change(rng, "ReLU", activation="relu"),
        _change(rng, "SwiGLU, without biases", activation="swiglu", has_bias=False),
        _change(rng, "a name that is not SwiGLU", activation="tanh"),
        _change(rng, "a name that is like SwiGLU's", activation="not_a_glu"),
    ]


def draw_grouped_heads(rng: Generator) -> list[Case]:
    """Fewer heads for keys and values than for queries."""
    return [
        _change(rng, "6 heads, 2 for keys", n_heads=6, n_kv_heads=2, d_model=66),
        _change(rng, "4 heads, 1 for keys", n_heads=4, n_kv_heads=1, d_model=52),
        _change(rng, "8 heads, 4 for keys", n_heads=8, n_kv_heads=4, d_model=48),
    ]


def draw_llama(rng: Generator) -> list[Case]:
    """Everything at once: LLaMA and its kin, and sizes that no float holds exactly."""
    many = llama(12_294, 10**9 + 1, 49_153, n_heads=9, n_kv_heads=3, vocab_size=50_257)
    published = ("LLaMA 7B", "Mistral 7B", "Llama 2 70B")
    return [
        *(_case(name, PUBLISHED[name][0]) for name in published),
        _case("a billion layers", many),
        _case("a width beyond 53 bits", llama(3 * (2**60 + 1), 2, 2**40, n_heads=3, n_kv_heads=1)),
    ]


def draw_any(rng: Generator) -> list[Case]:
    """A few."""
    return [*draw_gpt2(rng)[:2], _case("GPT-2 small", gpt2()), _case("LLaMA 7B", llama())]


# -- probes ----------------------------------------------------------------------------------------


def count_numbers(implementation, inputs):
    """Return the number; a float without a fraction is judged elsewhere."""
    number = implementation(inputs["config"])
    return int(number) if isinstance(number, float) and number.is_integer() else number


def count_change(implementation, inputs):
    """Return how many numbers a change of the config adds; for a change of layers, one more."""
    after, before = inputs["after"], inputs["before"]
    if after["n_layers"] != before["n_layers"]:
        before, after = after, {**after, "n_layers": after["n_layers"] + 1}
    change = implementation(dict(after)) - implementation(dict(before))
    return int(change) if isinstance(change, float) and change.is_integer() else change


def count_twice(implementation, inputs):
    """Return the number, the config afterwards, and whether a second call gives the same."""
    config = inputs["config"]
    first = implementation(config)
    return first, config, implementation(config) == first


# -- the reference version -------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _count_built(items: tuple[tuple[str, Any], ...]) -> int:
    with torch.device("meta"):
        return count(GPT(TransformerConfig(**dict(items))))


def count_parameters(config: Config) -> int:
    """Build the package's model without storage, of one layer and of two, and count.

    Of models that are wider than any tensor can be, count three and go on: the number is a
    polynomial of the second degree in the width.
    """
    if config["activation"] not in ("gelu", "relu", "swiglu"):
        return count_parameters({**config, "activation": "relu"})
    if config["d_model"] > 10**9:
        n_heads = config["n_heads"]
        steps = [count_parameters({**config, "d_model": 2 * n_heads * w}) for w in (1, 2, 3)]
        x = Fraction(config["d_model"], 2 * n_heads) - 1
        first, second = steps[1] - steps[0], steps[2] - 2 * steps[1] + steps[0]
        return int(steps[0] + x * first + x * (x - 1) / 2 * second)
    one, two = (
        _count_built(tuple(sorted({**config, "n_layers": n_layers}.items()))) for n_layers in (1, 2)
    )
    return one + (config["n_layers"] - 1) * (two - one)


# -- parts -----------------------------------------------------------------------------------------

_exact = agree(rtol=0, atol=0)
_rest = saying("the call changes the config", "a second call gives another number", judge=_exact)


def _judge_twice(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """A number that is about right will do: which one it should be, other parts ask."""
    if type(observed) is not tuple or type(observed[0]) not in (int, float):
        return "the result is not a number"
    if type(observed[0]) is float:
        return "the result is a float where a whole number is expected"
    if not 0.5 * expected[0] < observed[0] < 2 * expected[0]:
        return "the number is far from right"
    return _rest(observed[1:], expected[1:], inputs)


PARTS = (
    near_part(
        "blocks",
        "One more layer adds as many parameters as a block of GPT-2 has.",
        draw_layers,
        count_change,
        3,
        _exact,
    ),
    near_part(
        "GPT-2",
        "GPT-2 has its published number of parameters, and smaller ones have theirs.",
        draw_gpt2,
        count_numbers,
        3,
        _exact,
    ),
    near_part(
        "tables",
        "A tied table counts once, and only learned positions count: the change is right.",
        draw_tables,
        count_change,
        1,
        _exact,
    ),
    near_part(
        "norms and biases",
        "RMSNorm has no bias, and without biases nothing has one: the change is right.",
        draw_norms,
        count_change,
        1,
        _exact,
    ),
    near_part(
        "gates",
        "A gated feed-forward layer has one matrix more: the change is right.",
        draw_gates,
        count_change,
        0.5,
        _exact,
    ),
    near_part(
        "grouped heads",
        "With fewer heads for keys and values, these two matrices are smaller.",
        draw_grouped_heads,
        count_change,
        0.5,
        _exact,
    ),
    near_part(
        "LLaMA",
        "With everything at once the published numbers come out, exactly, however large.",
        draw_llama,
        count_numbers,
        0.5,
        _exact,
    ),
    Part(
        "nothing else changes",
        "The number is an int, the config stays as it was, and a second call gives the same.",
        draw_any,
        count_twice,
        judge=_judge_twice,
        weight=0.5,
        keeps_process=True,
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(config):
    """The answer that the mistakes start from."""
    V, D, F = config["vocab_size"], config["d_model"], config["d_ff"]
    G = D // config["n_heads"] * config["n_kv_heads"]
    has_bias = int(config["has_bias"])
    attention = 2 * D * D + 2 * D * G + has_bias * (2 * D + 2 * G)
    n_wide = 2 if config["activation"] == "swiglu" else 1
    feed_forward = (n_wide + 1) * D * F + has_bias * (n_wide * F + D)
    norm = D + has_bias * D * (config["norm"] == "layer")
    blocks = config["n_layers"] * (attention + feed_forward + 2 * norm)
    tables = V * D * (1 if config["is_tied"] else 2)
    positions = config["context_length"] * D * (config["positions"] == "learned")
    return tables + positions + blocks + norm


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The last norm is forgotten.",
        replace={"+ blocks + norm": "+ blocks"},
        hint="You miss one norm: after the last block of a pre-norm model the residual path is "
        "normalised once more, before the output.",
    ),
    mistake(
        "The biases of the linear layers are forgotten.",
        replace={
            " + has_bias * (2 * D + 2 * G)": "",
            " + has_bias * (n_wide * F + D)": "",
        },
        hint="You count the matrices of attention and feed-forward, but not their biases: one "
        "number for each *output*.",
        keeps=0.5,
    ),
    mistake(
        "The biases of a gated layer have one number for each input.",
        replace={"has_bias * (n_wide * F + D)": "has_bias * (n_wide * D + F)"},
        hint="In a gated feed-forward layer you give the biases one number for each input. A bias "
        "is added to what comes out: one number for each output.",
    ),
    mistake(
        "The shift of LayerNorm is forgotten.",
        replace={'norm = D + has_bias * D * (config["norm"] == "layer")': "norm = D"},
        hint="You count one number for each entry of a norm. LayerNorm has two, a weight and a "
        "bias; RMSNorm has one.",
        keeps=0.5,
    ),
    mistake(
        "The norms have no parameters.",
        replace={'norm = D + has_bias * D * (config["norm"] == "layer")': "norm = 0"},
        hint="You leave out the norms. Mean and variance are computed, but the weight (and bias) "
        "after them is learned: two norms in each block, and a last one.",
        keeps=0.5,
    ),
    mistake(
        "There is one norm in a block.",
        replace={"+ 2 * norm": "+ norm"},
        hint="You count one norm for each block. There are two: before attention, and before the "
        "feed-forward layer.",
        keeps=0.5,
    ),
    mistake(
        "Learned positions are forgotten.",
        replace={
            'config["context_length"] * D * (config["positions"] == "learned")': "0",
        },
        hint="You leave out the table of positions: where they are learned, each of the "
        "`context_length` positions has a vector of D numbers.",
    ),
    mistake(
        "Positions count in every case.",
        replace={' * (config["positions"] == "learned")': ""},
        hint="You count a table of positions for rotary and sinusoidal ones, too. These are "
        "computed, not learned: they have no parameters.",
    ),
    mistake(
        "The tied table is counted twice.",
        replace={'(1 if config["is_tied"] else 2)': "2"},
        hint="You count the output's table beside the embedding's. Where `is_tied` holds they are "
        "one and the same table, and training changes it once.",
    ),
    mistake(
        "A second table for the output is never counted.",
        replace={'(1 if config["is_tied"] else 2)': "1"},
        hint="You count one table of tokens in every case. Where `is_tied` is False, the output "
        "has another one of the same size.",
    ),
    mistake(
        "Attention has no output matrix.",
        replace={
            "2 * D * D + 2 * D * G": "D * D + 2 * D * G",
            "has_bias * (2 * D + 2 * G)": "has_bias * (D + 2 * G)",
        },
        hint="Your attention has three matrices. There is a fourth: the heads, joined again, are "
        "mixed by an output matrix.",
        keeps=0.5,
    ),
    mistake(
        "Every head has full-width matrices.",
        replace={"attention = 2 * D * D": 'attention = config["n_heads"] * 2 * D * D'},
        hint="You multiply by the number of heads. The heads share the width: each has D / n_heads "
        "rows of a matrix, and all together have D.",
    ),
    mistake(
        "Grouped heads are overlooked.",
        replace={'D // config["n_heads"] * config["n_kv_heads"]': "D"},
        hint="Your keys and values are as wide as the queries. With fewer heads for them, their "
        "matrices are smaller: n_kv_heads times the width of a head.",
    ),
    mistake(
        "Grouped heads shrink the queries, too.",
        replace={"2 * D * D + 2 * D * G": "D * D + 3 * D * G"},
        hint="You make queries as narrow as keys and values. Only these two have n_kv_heads heads; "
        "queries and output keep the full width.",
    ),
    mistake(
        "The gate of SwiGLU is overlooked.",
        replace={'2 if config["activation"] == "swiglu" else 1': "1"},
        hint="You count two matrices for each feed-forward layer. SwiGLU has three: the gate is as "
        "large as the other projection.",
    ),
    mistake(
        "RMSNorm has a bias.",
        replace={' * (config["norm"] == "layer")': ""},
        hint="You give RMSNorm a bias. It has none, whatever `has_bias` says: only a weight.",
    ),
    mistake(
        "LayerNorm keeps its bias where the rest has none.",
        replace={"D + has_bias * D *": "D + D *"},
        hint="Your LayerNorm has a bias in every case. Without `has_bias` nothing has one, "
        "LayerNorm included.",
    ),
    mistake(
        "The feed-forward layer is four times as wide as the model, whatever the config says.",
        replace={'config["d_ff"]': '4 * config["d_model"]'},
        hint="You take 4 D for the width of the feed-forward layer. GPT-2 has that, but the config "
        "names it: `d_ff`.",
        keeps=0.5,
    ),
    mistake(
        "The layers are counted once.",
        replace={'config["n_layers"] * (': "("},
        hint="You count one block. There are `n_layers` of them, each with weights of its own.",
    ),
    mistake(
        "The number is a float.",
        replace={'D // config["n_heads"]': 'D / config["n_heads"]'},
        hint="You return a float, as `/` does even where nothing is left over, and beyond 2^53 it "
        "is no longer exact. Divide by `//`: a number of parameters is an `int`.",
    ),
    mistake(
        "The config is changed.",
        replace={
            'V, D, F = config["vocab_size"], config["d_model"], config["d_ff"]': """
                V, D, F = config.pop("vocab_size"), config["d_model"], config["d_ff"]
                config["vocab_size"] = V
                config.setdefault("d_head", D // config["n_heads"])
            """
        },
        hint="The number is right, but you write into the caller's config. Keep what you compute "
        "in names of your own.",
    ),
)

CHECK = Check(
    item="ps5_count_parameters",
    points=10,
    target="count_parameters",
    reference=count_parameters,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)

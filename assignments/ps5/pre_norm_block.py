"""The task "the pre-norm block"."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from autograder.authoring.checks import Case, Check, Inputs, mistake, mistakes
from autograder.authoring.compare import saying
from course_pkg.layers.blocks import PreNormBlock

from ..tensors import Generator, keeps, near, near_part, normal
from .inputs import shape_text

# -- inputs ----------------------------------------------------------------------------------------


def _case(
    rng: Generator,
    shape: tuple[int, int, int],
    mask: str,
    dtype: str = "float64",
    *,
    shares_norm: bool = True,
) -> Case:
    """Draw a block: its probes build sublayers and norms of these weights."""
    batch_size, n, width = shape
    masks = {
        "none": None,
        "causal": torch.ones(n, n, dtype=torch.bool).tril().expand(batch_size, n, n).clone(),
        "padded": (torch.arange(n) < n - 1).expand(batch_size, n, n).clone(),
        "open": torch.ones(batch_size, n, n, dtype=torch.bool),
    }
    first = normal(rng, dtype, 2, width) + 2
    inputs: Inputs = {
        "x": normal(rng, dtype, *shape),
        "mask": masks[mask],
        "attention": normal(rng, dtype, width, width, scale=0.8),
        "inside": normal(rng, dtype, width, width),
        "outside": normal(rng, dtype, width, width),
        "norms": [first, first.clone() if shares_norm else normal(rng, dtype, 2, width) - 2],
        "dtype": dtype,
    }
    norms = "" if shares_norm else ", two norms"
    words = {"none": "no mask", "causal": "a causal mask", "padded": "the last position hidden"}
    words["open"] = "a mask that hides nothing"
    return Case(f"x of shape {shape_text(shape)}, {words[mask]}{norms}, {dtype}", inputs)


def draw_blocks(rng: Generator) -> list[Case]:
    """One position, one text, a batch; nothing is hidden, and the norms are alike."""
    return [
        _case(rng, (1, 1, 2), "none"),
        _case(rng, (1, 3, 4), "none"),
        _case(rng, (2, 5, 3), "none"),
        _case(rng, (3, 4, 5), "none", "float32"),
    ]


def draw_two_norms(rng: Generator) -> list[Case]:
    """Norms that have learned different weights."""
    return [
        _case(rng, (1, 3, 4), "none", shares_norm=False),
        _case(rng, (2, 5, 3), "none", shares_norm=False),
        _case(rng, (3, 2, 5), "none", "float32", shares_norm=False),
    ]


def draw_masked(rng: Generator) -> list[Case]:
    """Texts in which something may not be seen."""
    return [
        _case(rng, (1, 4, 3), "causal"),
        _case(rng, (2, 5, 4), "causal"),
        _case(rng, (2, 4, 3), "padded"),
        _case(rng, (2, 3, 2), "padded", "float32"),
    ]


def draw_for_calls(rng: Generator) -> list[Case]:
    """Masks, of which one hides nothing: it is handed on all the same."""
    return [*draw_masked(rng), _case(rng, (1, 3, 2), "open")]


def draw_ordinary(rng: Generator) -> list[Case]:
    """Cases in which a wrong value is a wrong accuracy."""
    return draw_blocks(rng)[1:]


def draw_hard_cases(rng: Generator) -> list[Case]:
    """Cases in which only the dtype, and what else changes, is looked at."""
    return [*draw_two_norms(rng), *draw_masked(rng), _case(rng, (0, 2, 3), "causal")]


# -- what probes put in the place of layers --------------------------------------------------------


def to_size_one(x):
    """Norm without weights."""
    return x / (x.square().mean(dim=-1, keepdim=True) + 0.1).sqrt()


def with_weights(scale, shift):
    """Return a norm with weights."""
    return lambda x: to_size_one(x) * scale + shift


def layers(mixing, inside, outside):
    """Return attention with one weight, and a feed-forward layer with two."""
    import torch

    def attention(x, mask):
        scores = x @ x.transpose(-2, -1) / x.shape[-1]
        if mask is not None:
            scores = scores.masked_fill(~mask, -1e9)
        return scores.softmax(dim=-1) @ x @ mixing

    return attention, lambda x: torch.tanh(x @ inside) @ outside


def cheap_functions(inputs):
    """Return four functions that keep every dtype."""
    import torch

    def mix(x, mask):
        return x.cumsum(dim=-2) if mask is None else mask.to(x.dtype) @ x

    return mix, torch.tanh, lambda x: x * inputs["norms"][0][0], lambda x: x + 1


LAYERS = (to_size_one, with_weights, layers)

# -- probes ----------------------------------------------------------------------------------------


def run_block(implementation, inputs):
    """Return the block's result with four functions that all differ."""
    functions = layers(inputs["attention"], inputs["inside"], inputs["outside"])
    norms = (with_weights(*weights) for weights in inputs["norms"])
    x = inputs["x"]
    if len(x) > 2:
        x = x.permute(2, 1, 0).contiguous().permute(2, 1, 0)  # in memory in another order
    return implementation(x, inputs["mask"], *functions, *norms)


def list_calls(implementation, inputs):
    """Return which functions are called, in order, and whether attention is given the mask."""
    import contextlib

    calls = []
    given = []

    def attention(x, mask):
        calls.append("attention")
        same = mask is inputs["mask"]
        given.append(same or (mask is not None and mask.equal(inputs["mask"])))
        return x * 2

    def named(name):
        def function(x):
            calls.append(name)
            return x.tanh()  # its gradient needs what it has computed

        return function

    functions = [attention, *(named(name) for name in ("feed_forward", "norm_1", "norm_2"))]
    x = inputs["x"].clone().requires_grad_() * 1  # no leaf: who writes into it loses another part
    result = implementation(x, inputs["mask"], *functions)
    if getattr(result, "requires_grad", False):
        with contextlib.suppress(RuntimeError):  # a broken graph is the business of other parts
            result.sum().backward()  # what is computed again for the gradient is called twice
    return calls, given


def run_silent(implementation, inputs):
    """Return result and gradient of a stack of twelve blocks whose sublayers add nothing."""
    import torch

    start = inputs["x"].clone().requires_grad_()

    def attention(x, mask):
        return torch.zeros_like(x)

    def feed_forward(x):
        return torch.zeros_like(x)

    x, norms = start, (to_size_one, to_size_one)
    for _ in range(12):
        x = implementation(x, inputs["mask"], attention, feed_forward, *norms)
    if not x.requires_grad:
        return "no gradient"
    weights = torch.linspace(0.5, 1.5, x.numel(), dtype=x.dtype).view_as(x)
    (gradient,) = torch.autograd.grad((x * weights).sum(), start, materialize_grads=True)
    return x.detach(), gradient


def look_at_hidden(implementation, inputs):
    """Return whether what the mask hides plays no part in the results of what cannot see it."""
    import torch

    functions = layers(inputs["attention"], inputs["inside"], inputs["outside"])
    x, arguments = inputs["x"], (inputs["mask"], *functions, to_size_one, to_size_one)
    moved = x.clone()
    moved[:, -1] = moved[:, -1].flip(-1) * 3 + 1
    before, after = implementation(x, *arguments), implementation(moved, *arguments)
    close = {"rtol": 1e-4, "atol": 1e-5}
    stays = torch.allclose(before[:, :-1], after[:, :-1], **close)
    moves = not torch.allclose(before[:, -1], after[:, -1], **close)
    # What may be seen must play a part: the first position is seen by all that follow.
    moved = x.clone()
    moved[:, 0] = moved[:, 0].flip(-1) * 3 + 1
    sees = not torch.allclose(before[:, 1:], implementation(moved, *arguments)[:, 1:], **close)
    return stays, moves, sees


def differentiate_block(implementation, inputs):
    """Return the gradients by x and by the weights of all four functions."""
    import torch

    leaves = [
        inputs[name].clone().requires_grad_() for name in ("x", "attention", "inside", "outside")
    ]
    norms = [norm.clone().requires_grad_() for norm in inputs["norms"]]
    start, *weights = leaves
    functions = (*layers(*weights), *(with_weights(*norm) for norm in norms))
    result = implementation(start, inputs["mask"], *functions)
    weights = torch.linspace(0.5, 1.5, result.numel(), dtype=result.dtype).view_as(result)
    total = (result * weights).sum()
    if not total.requires_grad:
        return "no gradient"
    return list(torch.autograd.grad(total, [*leaves, *norms], materialize_grads=True))


def run_elsewhere(implementation, inputs):
    """Return the result where torch makes tensors of another dtype by default."""
    import torch

    functions = cheap_functions(inputs)
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, inputs["default"]))
    try:
        return implementation(inputs["x"], inputs["mask"], *functions)
    except Exception:
        if "hard" not in inputs:
            raise
        return None  # what is wrong in a hard case is the business of another part
    finally:
        torch.set_default_dtype(before)


def run_twice(implementation, inputs):
    """Return the result, whether a second call gives the same, and all else that may change.

    At last, whether functions are called as promised, and what they return is left alone.
    """
    import torch

    made = []

    def promised(function, n):
        def called(*arguments):
            if len(arguments) != n or arguments[0].shape != inputs["x"].shape:
                raise TypeError
            result = function(*arguments)
            made.append((result, result.clone()))
            return result

        return called

    def ask(*functions):
        try:
            return implementation(inputs["x"], inputs["mask"], *functions)
        except Exception:
            return None  # whether there is a result is the business of other parts

    ask(lambda x, mask: x, lambda x: x, lambda x: x, lambda x: x)  # each hands back what it got
    functions = cheap_functions(inputs)
    result, again = ask(*functions), ask(*functions)
    is_tensor = isinstance(result, torch.Tensor) and isinstance(again, torch.Tensor)
    arguments = [inputs["x"], inputs["mask"]]
    same = not is_tensor or result.equal(again)
    strict = ask(*map(promised, functions, (2, 1, 1, 1)))
    is_kept = type(strict) is type(result) and all(now.equal(then) for now, then in made)
    return result, same, arguments, is_kept


# -- the reference version -------------------------------------------------------------------------


class _Plugged(PreNormBlock):
    """The package's equation, with functions in the place of its layers."""

    def __init__(
        self, sublayers: list[Callable[..., Tensor]], norms: list[Callable[..., Tensor]]
    ) -> None:
        nn.Module.__init__(self)
        self.plugged, self.dropout = sublayers, nn.Identity()
        object.__setattr__(self, "norms", norms)

    def sublayers(self, memory: Tensor | None = None, **reading: object) -> list[Any]:
        return self.plugged


def pre_norm_block(
    x: Tensor,
    mask: Tensor | None,
    attention: Callable[[Tensor, Tensor | None], Tensor],
    feed_forward: Callable[[Tensor], Tensor],
    norm_1: Callable[[Tensor], Tensor],
    norm_2: Callable[[Tensor], Tensor],
) -> Tensor:
    """Run the package's block with the given functions in the place of its layers."""
    sublayers = [lambda h: attention(h, mask), feed_forward]
    out: Tensor = _Plugged(sublayers, [norm_1, norm_2])(x)
    return out


# -- parts -----------------------------------------------------------------------------------------


PARTS = (
    near_part(
        "values",
        "Each sublayer reads the normalised x, and what it returns is added to x as it was.",
        draw_blocks,
        run_block,
        5,
        helpers=LAYERS,
    ),
    near_part(
        "two norms",
        "Attention reads what norm_1 returns, and the feed-forward layer what norm_2 returns.",
        draw_two_norms,
        run_block,
        1,
        helpers=LAYERS,
    ),
    near_part(
        "masks",
        "Attention is given the mask as it is, also if there is no text at all.",
        lambda rng: [*draw_masked(rng), _case(rng, (0, 3, 2), "causal")],
        run_block,
        1,
        helpers=LAYERS,
    ),
    near_part(
        "residual path",
        "Where both sublayers return zeros, x and its gradient pass unchanged.",
        draw_blocks,
        run_silent,
        2,
        saying("", "{} in the gradient of x", judge=near),
        helpers=(to_size_one,),
    ),
    near_part(
        "calls",
        "Each function is called once, in the right order, and attention is given the mask.",
        draw_for_calls,
        list_calls,
        1,
        saying(
            "the functions are called in another order, or not just once each",
            "attention is not given the mask",
        ),
    ),
    near_part(
        "hidden positions",
        "What the mask hides plays no part in the results, and what it shows does.",
        draw_masked,
        look_at_hidden,
        1,
        saying(
            "what the mask hides makes results of positions that cannot see it others, or nan",
            "where the vector of a position changes, its own result stays as it was",
            "what the mask shows plays no part in the results",
        ),
        helpers=LAYERS,
    ),
    near_part(
        "gradients",
        "Gradients flow to x and to the weights of all four functions, and are right.",
        draw_blocks,
        differentiate_block,
        1,
        helpers=LAYERS,
    ),
    *keeps(
        draw_ordinary,
        draw_hard_cases,
        probes=(run_elsewhere, run_twice),
        narrow="float64",
        helpers=(cheap_functions,),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(x, mask, attention, feed_forward, norm_1, norm_2):
    """The answer that the mistakes start from."""
    middle = x + attention(norm_1(x), mask)
    return middle + feed_forward(norm_2(middle))


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The sums are normalised, not what enters the sublayers: post-norm.",
        replace={
            "x + attention(norm_1(x), mask)": "norm_1(x + attention(x, mask))",
            "middle + feed_forward(norm_2(middle))": "norm_2(middle + feed_forward(middle))",
        },
        hint="You normalise after adding, as in 2017: post-norm. In a pre-norm block the norm "
        "comes before the sublayer, and nothing ever normalises the residual path itself.",
    ),
    mistake(
        "The residual connection starts behind the norm.",
        replace={
            "middle = x + attention(norm_1(x), mask)": """
                x = norm_1(x)
                middle = x + attention(x, mask)
                middle = norm_2(middle)
            """,
            "feed_forward(norm_2(middle))": "feed_forward(middle)",
        },
        hint="You add the sublayer's result to the *normalised* x. The residual connection starts "
        "before the norm: it carries x as it is, so that gradients have a straight path.",
    ),
    mistake(
        "What the sublayers return is normalised, instead of what they read.",
        replace={
            "x + attention(norm_1(x), mask)": "x + norm_1(attention(x, mask))",
            "feed_forward(norm_2(middle))": "norm_2(feed_forward(middle))",
        },
        hint="You normalise what comes out of a sublayer before you add it. In a pre-norm block "
        "the norm comes first: sublayer(norm(x)).",
    ),
    mistake(
        "There is no residual connection around attention.",
        replace={"x + attention": "attention"},
        hint="You replace x by what attention returns. It is added to x: what a position knows of "
        "itself must not get lost.",
    ),
    mistake(
        "There is no residual connection around the feed-forward layer.",
        replace={"middle + feed_forward": "feed_forward"},
        hint="You return what the feed-forward layer gives. It is added to what came in, as with "
        "attention: both sublayers have a residual connection.",
    ),
    mistake(
        "One residual connection goes around both sublayers.",
        replace={
            "x + attention": "attention",
            "middle + feed_forward": "x + feed_forward",
        },
        hint="You add only once, around both sublayers together. Each has a residual connection of "
        "its own; the feed-forward layer reads the sum.",
    ),
    mistake(
        "Both sublayers read the same input, side by side.",
        replace={"norm_2(middle)": "norm_2(x)"},
        hint="Your feed-forward layer reads x from before attention: a parallel block. Here it "
        "comes second and reads what attention has added to.",
    ),
    mistake(
        "The first norm is used twice.",
        replace={"norm_2(middle)": "norm_1(middle)"},
        hint="You use norm_1 before both sublayers. Each has a norm with weights of its own: "
        "norm_2 belongs to the feed-forward layer.",
    ),
    mistake(
        "The norms are swapped.",
        replace={"norm_1(x)": "norm_2(x)", "norm_2(middle)": "norm_1(middle)"},
        hint="You use norm_2 before attention and norm_1 before the feed-forward layer. It is the "
        "other way round.",
    ),
    mistake(
        "The feed-forward layer reads what has not been normalised.",
        replace={"norm_2(middle)": "middle"},
        hint="Your feed-forward layer reads the residual path itself, which grows from block to "
        "block. It, too, has a norm in front of it: norm_2.",
    ),
    mistake(
        "Attention reads what has not been normalised.",
        replace={"norm_1(x)": "x"},
        hint="Your attention reads the residual path itself, which grows from block to block. It "
        "has a norm in front of it: norm_1.",
    ),
    mistake(
        "The feed-forward layer comes first.",
        replace={
            "x + attention(norm_1(x), mask)": "x + feed_forward(norm_1(x))",
            "middle + feed_forward(norm_2(middle))": "middle + attention(norm_2(middle), mask)",
        },
        hint="You call the feed-forward layer first. Attention comes first: it gathers, and then "
        "the feed-forward layer works on what was gathered.",
    ),
    mistake(
        "The mask is not handed on.",
        replace={", mask)": ", None)"},
        hint="You call attention without the mask. So every position sees what follows it, and "
        "padding: hand on the mask that you are given.",
    ),
    mistake(
        "The mask is inverted.",
        replace={", mask)": ", mask if mask is None else ~mask)"},
        hint="You hand on the opposite of the mask. In this course True means: may look. Hand the "
        "mask on as it is.",
    ),
    mistake(
        "One more norm is applied to the result.",
        replace={
            "middle + feed_forward(norm_2(middle))": "norm_2(middle + feed_forward(norm_2(middle)))"
        },
        hint="You normalise the result once more. There is a last norm, but only after the last "
        "block of a stack; within a block the residual path stays untouched.",
        keeps=0.5,
    ),
    mistake(
        "Sublayers are averaged with x instead of added.",
        replace={
            "return middle + feed_forward(norm_2(middle))": (
                "return (middle + feed_forward(norm_2(middle))) / 2"
            )
        },
        hint="You divide a sum by 2. A residual connection only adds: halved in every block, x "
        "and its gradient would vanish in a deep stack.",
        keeps=0.5,
    ),
    mistake(
        "Attention is called twice.",
        replace={
            "middle = x + attention(norm_1(x), mask)": """
                middle = x + attention(norm_1(x), mask)
                middle = x + attention(norm_1(x), mask)
            """
        },
        hint="The result is right, but you call attention twice, and it is the costliest part of "
        "the block. Keep what it returns in a name.",
    ),
    mistake(
        "Attention's result is added into the caller's x.",
        replace={
            "middle = x + attention(norm_1(x), mask)": """
                added = attention(norm_1(x), mask)
                middle = x + added
                with torch.no_grad():
                    x.copy_(middle)
            """
        },
        hint="The result is right, but x has changed for the caller. `x += ...` writes into the "
        "tensor that you were given; `x + ...` makes a new one.",
    ),
    mistake(
        "The residual path is cut from the graph.",
        replace={"middle = x + ": "middle = x.detach() + "},
        hint="The values are right, but you detach x where it is added. The straight path of the "
        "gradient is what residual connections are for.",
    ),
)

CHECK = Check(
    item="ps5_pre_norm_block",
    points=12,
    target="pre_norm_block",
    reference=pre_norm_block,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)

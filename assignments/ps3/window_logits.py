"""The task "the fixed window"."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F

from autograder.authoring.checks import Case, Check, counted, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.models.window import FixedWindowLM

from ..contracts import Contract
from ..tensors import (
    FLOWS,
    Generator,
    any_layout,
    call,
    differentiate,
    keeps,
    near_part,
    normal,
    tensor_case,
)
from .inputs import whole

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T; -; -; -")

Size = tuple[int, int, int, tuple[int, int, int], int, str]


def _draw_windows(rng: Generator, sizes: Sequence[Size]) -> list[Case]:
    cases = []
    for batch_size, n_positions, window, widths, eos_id, dtype in sizes:
        weights = _weights(rng, dtype, window, widths)
        ids = whole(rng, widths[0], batch_size, n_positions)
        label = f"{counted(batch_size, 'row')} of {counted(n_positions, 'id')}"
        label += f", a window of {window}, eos_id {eos_id}"
        cases.append(tensor_case(label, dtype, ids, window, eos_id, weights))
    return cases


def _weights(
    rng: Generator, dtype: str, window: int, widths: tuple[int, int, int]
) -> dict[str, Tensor]:
    vocab_size, d_embedding, d_hidden = widths
    return {
        "embedding": normal(rng, dtype, vocab_size, d_embedding),
        "hidden": normal(rng, dtype, d_hidden, window * d_embedding, scale=0.4),
        "hidden_bias": normal(rng, dtype, d_hidden),
        "output": normal(rng, dtype, vocab_size, d_hidden),
        "output_bias": normal(rng, dtype, vocab_size),
    }


def draw_windows(rng: Generator) -> list[Case]:
    """Texts that are longer than the window; a window of 1; all sizes equal."""
    return _draw_windows(
        rng,
        [
            (1, 3, 1, (4, 3, 5), 2, "float64"),
            (1, 4, 2, (11, 4, 7), 10, "float64"),
            (2, 8, 3, (4, 7, 11), 1, "float32"),
            (3, 9, 5, (7, 11, 4), 3, "float64"),
            (3, 3, 3, (3, 3, 3), 1, "float64"),
            (2, 5, 2, (7, 1, 1), 6, "float32"),
        ],
    )


def draw_starts(rng: Generator) -> list[Case]:
    """Texts and windows of more than one id, so that some context is missing; any eos_id."""
    return _draw_windows(
        rng,
        [
            (1, 4, 2, (4, 11, 7), 3, "float64"),
            (2, 7, 3, (7, 4, 11), 1, "float32"),
            (3, 6, 5, (11, 7, 4), 0, "float64"),
            (4, 4, 4, (4, 4, 4), 2, "float64"),
        ],
    )


def draw_short_texts(rng: Generator) -> list[Case]:
    """Texts that are shorter than the window."""
    return _draw_windows(
        rng,
        [
            (1, 1, 2, (4, 7, 11), 1, "float64"),
            (2, 3, 5, (7, 11, 4), 6, "float32"),
            (3, 1, 4, (11, 4, 7), 5, "float64"),
        ],
    )


def draw_saturated(rng: Generator) -> list[Case]:
    """Hidden sums of hundreds on both sides."""
    cases = _draw_windows(
        rng, [(2, 3, 2, (5, 3, 4), 1, "float64"), (2, 4, 3, (4, 2, 6), 3, "float32")]
    )
    for case in cases:
        weights = case.inputs["arguments"][3]
        signs = torch.arange(len(weights["hidden_bias"])) % 2 * 2 - 1
        weights["hidden_bias"].copy_(900.0 * signs)
    return cases


# -- probes ----------------------------------------------------------------------------------------


def score_full_windows(implementation, inputs):
    """Return the logits of all positions that have a whole window before them."""
    return implementation(*inputs["arguments"])[:, inputs["arguments"][1] - 1 :]


def score_starts(implementation, inputs):
    """Return the logits of the positions before the first whole window."""
    return implementation(*inputs["arguments"])[:, : inputs["arguments"][1] - 1]


# -- the reference version -------------------------------------------------------------------------


def window_logits(ids: Tensor, window: int, eos_id: int, weights: Mapping[str, Tensor]) -> Tensor:
    """Run the package's model on the given weights."""
    vocab_size, d_embedding = weights["embedding"].shape
    with torch.device("meta"):
        model = FixedWindowLM(
            vocab_size, window, d_embedding, len(weights["hidden"]), eos_id=eos_id
        )
    given = {
        "embedding.weight": weights["embedding"],
        "hidden.weight": weights["hidden"],
        "hidden.bias": weights["hidden_bias"],
        "output.weight": weights["output"],
        "output.bias": weights["output_bias"],
    }
    logits: Tensor = functional_call(model, given, (ids,))[0]
    return logits


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    near_part(
        "values",
        "Where the window is full, the scores of the next id are right.",
        draw_windows,
        score_full_windows,
        5,
    ),
    near_part(
        "starts",
        "At the start of a text, eos_id stands for what is missing on the left.",
        draw_starts,
        score_starts,
        2,
    ),
    near_part(
        "short texts",
        "Texts that are shorter than the window have scores too.",
        draw_short_texts,
        call,
        1,
    ),
    near_part(
        "saturation",
        "Sums of hundreds in the hidden layer give 1 and -1.",
        draw_saturated,
        call,
        0.5,
    ),
    near_part("gradients", FLOWS, draw_windows, differentiate, 1),
    any_layout(draw_windows, 0.5, CONTRACT),
    *keeps(draw_windows, draw_short_texts),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_windows(rng)[1:2], "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, window, eos_id, weights):
    """The answer that the mistakes start from."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    logits = hidden @ weights["output"].T + weights["output_bias"]
    return logits


@mistake(
    hint="You put vectors of zeros before the text. There stands eos_id, an id with an embedding "
    "of its own: pad the ids first, and look up afterwards.",
)
def zeros_before_the_text(ids, window, eos_id, weights):
    """Before the text stands a vector of zeros instead of eos."""
    vectors = F.pad(weights["embedding"][ids], (0, 0, window - 1, 0))
    vectors = vectors.unfold(1, window, 1).transpose(2, 3).flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


@mistake(
    hint="In your answer the left context of one row is the end of the row above. Rows of a batch "
    "are separate texts: pad each of them.",
)
def rows_in_one_stream(ids, window, eos_id, weights):
    """The left context of a row is the end of the row above it."""
    n_rows, n_places = ids.shape
    stream = F.pad(ids.reshape(1, -1), (window - 1, 0), value=eos_id)
    windows = stream.unfold(1, window, 1).reshape(n_rows, n_places, window)
    vectors = weights["embedding"][windows].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The window is reversed: the newest id comes first.",
        replace={"unfold(1, window, 1)": "unfold(1, window, 1).flip(-1)"},
        hint="Your window holds the right ids, but in reverse. Each place of the window has its "
        "own weights, so order counts: the oldest id comes first.",
        keeps=0.5,
    ),
    mistake(
        "The tanh is missing.",
        replace={"torch.tanh(": "("},
        hint="Your hidden layer has no tanh. Without it two layers are one linear map, and the "
        "network cannot combine words in any way that a sum does not.",
        keeps=0.5,
    ),
    zeros_before_the_text,
    mistake(
        "Before the text stands the id 0 instead of eos.",
        replace={", value=eos_id": "", "logits =": "return", "return logits": ""},
        hint="You pad with the id 0. It may be an ordinary word: pad with the eos_id that is "
        "given.",
    ),
    mistake(
        "The padding stands after the text, so that a window sees what is to come.",
        replace={"(window - 1, 0)": "(0, window - 1)"},
        hint="You pad on the right. So a window reaches to the right of its place and sees the "
        "very id that is to be predicted. What is missing is missing on the left.",
    ),
    mistake(
        "The window ends one place too early: the newest id is not seen.",
        replace={"(window - 1, 0), value=eos_id)": "(window, 0), value=eos_id)[:, :-1]"},
        hint="Your windows end one place too early: the score at a place must use the id of the "
        "place itself, since it predicts the id after it. How many ids of padding do you need?",
        keeps=0.5,
    ),
    mistake(
        "Places without a full window are left out.",
        replace={"padded.unfold": "ids.unfold"},
        hint="You score only places with a full window. The first words of a text must be "
        "predicted too: fill what is missing on the left with eos_id.",
    ),
    mistake(
        "The hidden layer's bias is missing.",
        replace={' + weights["hidden_bias"]': ""},
        hint="Your hidden layer has no bias. Add `hidden_bias` to the product before the tanh.",
        keeps=0.5,
    ),
    mistake(
        "The bias of the output is missing.",
        replace={' + weights["output_bias"]': ""},
        hint="Your output has no bias. It lets frequent words have a high score in every context: "
        "add it to the product with the output weights.",
        keeps=0.5,
    ),
    mistake(
        "Probabilities are returned instead of scores.",
        replace={"return logits": "return torch.softmax(logits, dim=-1)"},
        hint="You return probabilities. The contract asks for the scores before softmax, since "
        "the loss needs them to stay accurate.",
        keeps=0.5,
    ),
    mistake(
        "The features of the window's embeddings are interleaved, not side by side.",
        replace={"flatten(2)": "transpose(2, 3).flatten(2)"},
        hint="In your windows the first features of all ids come first, then the second ones. Put "
        "whole embeddings side by side: look at the order of the axes before you flatten.",
        keeps=0.5,
    ),
    rows_in_one_stream,
)

CHECK = Check(
    item="ps3_window_logits",
    points=12,
    target="window_logits",
    reference=window_logits,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)

"""The task "which tokens an assistant learns"."""

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed
from course_pkg.training import objectives

from ..contracts import Contract
from ..token_ids import IGNORE, Generator, case, draw_ids, dtype_part, keeps, layout_part, part

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T; B; B")


def _case(
    rng: Generator,
    rows: list[str],
    *,
    ids: tuple[int, ...] = tuple(range(10, 60)),
    end: int = 9,
    pad: int = 9,
    what: str = "",
) -> Case:
    """Fill a pattern: prompt (p), reply (r), its end (e), padding (-), padding's id in it (0)."""
    drawn = draw_ids(rng, (len(rows), len(rows[0])), ids)
    for number, letters in enumerate(rows):
        for t, letter in enumerate(letters):
            if letter in "e-0P":
                drawn[number, t] = end if letter == "e" else pad
    prompts = torch.tensor([row.lower().count("p") for row in rows])
    lengths = torch.tensor([len(row.rstrip("-")) for row in rows])
    label = f"{len(rows)} by {len(rows[0])}, {sum(row.count('-') for row in rows)} padding{what}"
    return case(label, drawn, prompts, lengths)


def draw_values(rng: Generator) -> list[Case]:
    """Prompts and replies of all lengths, with and without padding."""
    return [
        _case(rng, ["pre"]),
        _case(rng, ["pprre--"]),
        _case(rng, ["prrre-", "pppre-", "ppprre"]),
        _case(rng, ["pppppre", "prrrrre", "ppre---", "pe-----"], pad=0),
        _case(rng, ["pprrrrrrre---", "ppppppppppppe", "prrrrrrrrrrre"], end=3, pad=4),
    ]


def draw_ends(rng: Generator) -> list[Case]:
    """The end has the id of the padding; that id in a prompt, and in the middle of a reply."""
    return [
        _case(rng, ["ppr0e--", "pr00re-"], what=", its id in the reply"),
        _case(rng, ["pPprre-", "PPre---"], what=", its id in the prompt"),
        _case(rng, ["pp0re--", "p000e--"], pad=0, end=0, what=", the id 0"),
        _case(rng, ["prr0", "ppr0"], pad=5, what=", a reply that ends with that id"),
        _case(rng, ["ppe--", "prre-"], ids=(9, 8), what=", few different ids"),
    ]


def draw_edges(rng: Generator) -> list[Case]:
    """Empty replies; one position; large ids."""
    return [
        _case(rng, ["ppp--", "prre-"], what=", an empty reply"),
        _case(rng, ["pppp", "p---", "pp--"], what=", empty replies"),
        _case(rng, ["p"]),
        _case(rng, ["p", "p", "p"]),
        _case(rng, ["pr", "pe", "pp"]),
        _case(rng, ["prrr-", "ppre-"], ids=(2**31 + 1, 2**33 + 5, 2**40 + 1), what=", large ids"),
        _case(rng, ["p" * 150 + "r" * 150 + "---"], what=", a long row"),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [drawn for kind in (draw_values, draw_ends, draw_edges) for drawn in kind(rng)[:4]]


# -- the reference version -------------------------------------------------------------------------


def reply_targets(ids: Tensor, prompt_lengths: Tensor, lengths: Tensor) -> Tensor:
    """Ask the package about the rows that have a reply; it refuses all others."""
    targets = torch.full_like(ids, IGNORE)
    has_reply = lengths > prompt_lengths
    targets[has_reply] = objectives.reply_targets(
        ids[has_reply], prompt_lengths[has_reply], lengths[has_reply]
    )
    return targets


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    part(
        "values",
        "The target of a position is the next id, where that one is in the reply.",
        draw_values,
        6,
    ),
    part(
        "ends",
        "The reply's last id is a target; what is padding is told by its place, not its id.",
        draw_ends,
        2.5,
    ),
    part(
        "edges",
        "A reply may be empty, a row a single id, and ids of any size.",
        draw_edges,
        1.5,
    ),
    layout_part(draw_values, 0.5, CONTRACT),
    dtype_part(draw_all),
    keeps(draw_all),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[1:2], "B", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, prompt_lengths, lengths):
    """The answer that the mistakes start from."""
    place = torch.arange(ids.shape[1]) + 1
    after_prompt = place >= prompt_lengths[:, None]
    before_end = place < lengths[:, None]
    following = torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], IGNORE)], dim=1)
    return torch.where(after_prompt & before_end, following, IGNORE)


@mistake(
    hint="Your targets are right, but they are made piece by piece, in a loop. Compared with a "
    "column of lengths, a row of places gives the mask of the whole batch at once."
)
def row_by_row(ids, prompt_lengths, lengths):
    """The rows are filled in a loop."""
    targets = torch.full_like(ids, IGNORE)
    for row in range(len(ids)):
        p, n = int(prompt_lengths[row]), int(lengths[row])
        for place in range(p, n):
            targets[row, place - 1] = ids[row, place]
    return targets


@mistake(
    hint="You write IGNORE into the caller's ids. They are what the model reads: make a new tensor "
    "for the targets."
)
def writes_into_the_ids(ids, prompt_lengths, lengths):
    """The caller's ids become the targets."""
    place = torch.arange(ids.shape[1]) + 1
    is_reply = (place >= prompt_lengths[:, None]) & (place < lengths[:, None])
    shifted = ids.roll(-1, dims=1)
    ids.copy_(shifted.masked_fill(~is_reply, IGNORE))
    return ids


MISTAKES = mistakes(
    right_answer,
    mistake(
        "A position's target is its own id.",
        replace={
            "torch.arange(ids.shape[1]) + 1": "torch.arange(ids.shape[1])",
            "torch.cat([ids[:, 1:], torch.full_like(ids[:, :1], IGNORE)], dim=1)": "ids",
        },
        hint="Your targets stand where the tokens themselves stand. The model predicts the next "
        "one at each position: they move one place to the left.",
    ),
    mistake(
        "The mask is not shifted with the ids.",
        replace={"torch.arange(ids.shape[1]) + 1": "torch.arange(ids.shape[1])"},
        hint="You shift the ids, but not the mask. Whether a target counts depends on where the "
        "*predicted* token stands, one place further.",
        keeps=0.5,
    ),
    mistake(
        "Prompts are targets, too.",
        replace={"after_prompt & before_end": "before_end"},
        hint="Your targets begin with the prompt. Only the reply is to be learned: an assistant "
        "does not have to write its own questions.",
        keeps=0.3,
    ),
    mistake(
        "Padding is a target, too.",
        replace={"after_prompt & before_end": "after_prompt & (place < ids.shape[1])"},
        hint="Behind the end of a reply you go on with the padding. Nothing is to be learned from "
        "it: stop where `lengths` says.",
        keeps=0.3,
    ),
    mistake(
        "The end of the reply is no target.",
        replace={"place < lengths[:, None]": "place < lengths[:, None] - 1"},
        hint="The last id of the reply is no target of yours. It says that the reply is over, and "
        "without it the model never learns to stop.",
        keeps=0.5,
    ),
    mistake(
        "One place behind the reply is a target.",
        replace={"place < lengths": "place <= lengths"},
        hint="You take one target too many: the id that comes after the end of the reply. The "
        "reply is what comes before `lengths`.",
        keeps=0.5,
    ),
    mistake(
        "The first id of the reply is no target.",
        replace={"place >= prompt_lengths": "place > prompt_lengths"},
        hint="The first id of the reply is no target of yours. It is predicted at the last "
        "position of the prompt, where the model has read all of it.",
        keeps=0.5,
    ),
    mistake(
        "The last id of the prompt is a target.",
        replace={"prompt_lengths[:, None]": "prompt_lengths[:, None] - 1"},
        hint="You begin one position too early: there the model would have to predict the last id "
        "of the prompt.",
        keeps=0.5,
    ),
    mistake(
        "All rows end with the longest.",
        replace={"place < lengths[:, None]": "place < lengths.max()"},
        hint="You cut all rows at the same place, that of the longest. Each row has its own "
        "length: after it comes padding.",
    ),
    mistake(
        "All prompts are as long as the first.",
        replace={"prompt_lengths[:, None]": "prompt_lengths[0]"},
        hint="You take the first prompt's length for all rows. Each row of the batch has its own: "
        "make a column of the lengths.",
    ),
    mistake(
        "What has the padding's id is no target.",
        replace={"after_prompt & before_end": "after_prompt & (following != ids[0, -1])"},
        hint="You tell padding by its id. The token that ends a reply often has the same id, and "
        "it must stay a target: go by the places.",
    ),
    mistake(
        "Nothing is ignored: where there is no target stands 0.",
        replace={"following, IGNORE)": "following, 0)"},
        hint="Where there is nothing to predict, your target is 0. That is an id like any other: "
        "IGNORE, -100, says that a position does not count.",
        keeps=0.5,
    ),
    mistake(
        "Targets are int32.",
        replace={"following, IGNORE)": "following, IGNORE).int()"},
        hint="Your targets are int32. The contract says int64, the dtype of the ids: no conversion "
        "is needed.",
    ),
    writes_into_the_ids,
    row_by_row,
)

CHECK = Check(
    item="ps8_reply_targets",
    points=10,
    target="reply_targets",
    reference=reply_targets,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)

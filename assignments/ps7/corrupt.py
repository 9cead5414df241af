"""The task "what the model sees"."""

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, mistake, mistakes
from autograder.authoring.rules import not_allowed

from ..contracts import Contract
from ..token_ids import IGNORE, Generator, case, draw_ids, dtype_part, keeps, part, taking

# -- inputs ----------------------------------------------------------------------------------------

CONTRACT = Contract("B T; B T; B T; B T; -", empty="B T")
TEXT, OTHERS = range(20, 60), range(60, 99)


def _case(
    rng: Generator,
    rows: list[str],
    *,
    mask_id: int = 7,
    what: str = "",
    text: range | tuple[int, ...] = TEXT,
    others: range | tuple[int, ...] = OTHERS,
) -> Case:
    """Fill a pattern: two characters a position, "+" where it is chosen, and what the die shows."""
    marks = [[row[i : i + 2] for i in range(0, len(row), 2)] for row in rows]
    chosen = torch.tensor([[mark[0] == "+" for mark in row] for row in marks])
    dice = torch.tensor([[int(mark[1]) for mark in row] for row in marks])
    ids, random_ids = draw_ids(rng, chosen.shape, text), draw_ids(rng, chosen.shape, others)
    label = f"{chosen.shape[0]} by {chosen.shape[1]}{what}, mask_id {mask_id}"
    return case(label, ids, chosen, dice, random_ids, mask_id)


def draw_values(rng: Generator) -> list[Case]:
    """All ten faces of the die, at chosen positions and at others."""
    return [
        _case(rng, ["-0+0-8+8+9"]),
        _case(rng, ["+0+1+2+3+4+5+6+7+8+9", "-9-8-7-6-5-4-3-2-1-0"]),
        _case(rng, ["+8-3+6", "-8+9-9", "+7+8-0", "-1+2+9", "+8+9+5"], mask_id=2),
        _case(rng, ["-4+4-8+8-9+9+3-7", "+7-8+9-0+1+8+8-9", "+9+9-9+0-1+5+8-8"], mask_id=103),
    ]


def draw_hard_ids(rng: Generator) -> list[Case]:
    """Ids that mean something else elsewhere, and ids that are equal."""
    rows = ["+0-8+8+9-0", "+9+8-9-2+6"]
    return [
        _case(rng, rows, mask_id=0, what=", the mask is 0"),
        _case(rng, rows, text=(0,), what=", all ids are 0"),
        _case(rng, rows, text=(7, 7, 8), what=", mask_id stands in the text"),
        _case(rng, rows, text=(5,), others=(5,), what=", random ids are the true ones"),
        _case(rng, rows, others=(7,), what=", random ids are mask_id"),
        _case(rng, rows, others=(0,), what=", random ids are 0"),
        _case(rng, rows, mask_id=30521, text=(2**40, 2**24 + 1), what=", large ids"),
    ]


def draw_edges(rng: Generator) -> list[Case]:
    """Everything chosen, nothing chosen, nothing there; gaps in memory."""
    return [
        _case(rng, ["+0+8+9", "+9+7+8"], what=", all chosen"),
        _case(rng, ["-0-8-9", "-9-7-8"], what=", none chosen"),
        _case(rng, ["+9+9+9", "+9+9+9"], what=", all chosen, and all as they are"),
        *CONTRACT.forms(lambda rng: draw_values(rng)[1:3])(rng),
    ]


def draw_all(rng: Generator) -> list[Case]:
    """Take cases of all kinds."""
    return [*draw_values(rng)[:3], *draw_hard_ids(rng)[:2], *draw_edges(rng)[:3]]


# -- the reference version -------------------------------------------------------------------------


def corrupt(
    ids: Tensor, chosen: Tensor, dice: Tensor, random_ids: Tensor, mask_id: int
) -> tuple[Tensor, Tensor]:
    """Say for each face of the die what is seen, and look it up."""
    faces = torch.stack([torch.full_like(ids, mask_id)] * 8 + [random_ids, ids])
    shown = faces.gather(0, dice.unsqueeze(0)).squeeze(0)
    return ids.where(~chosen, shown), ids.where(chosen, IGNORE)


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    part(
        "what is seen",
        "Chosen positions show mask_id, their random id or the true id, by the die; others stay.",
        taking(draw_values, 0),
        4,
    ),
    part(
        "targets",
        "The target is the true id at every chosen position, and IGNORE at all others.",
        taking(draw_values, 1),
        4,
    ),
    part(
        "hard ids",
        "Any id may be 0, stand in the text as mask_id does, or be its own random id.",
        draw_hard_ids,
        2,
    ),
    part(
        "edges",
        "All positions may be chosen or none, there may be none, and tensors may have gaps.",
        draw_edges,
        1,
    ),
    dtype_part(draw_all),
    keeps(draw_all),
    not_allowed(longer=CONTRACT.longer(lambda rng: draw_values(rng)[1:2], "B", "T")),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, chosen, dice, random_ids, mask_id):
    """The answer that the mistakes start from."""
    is_masked = chosen & (dice <= 7)
    is_random = chosen & (dice == 8)
    seen = torch.where(is_masked, mask_id, ids)
    seen = torch.where(is_random, random_ids, seen)
    targets = torch.where(chosen, ids, IGNORE)
    return seen, targets


@mistake(
    hint="Your results are right, but they are made piece by piece, in a loop. `torch.where` "
    "decides for all positions at once, from a mask of True and False."
)
def position_by_position(ids, chosen, dice, random_ids, mask_id):
    """The positions are changed in a loop."""
    seen, targets = ids.clone(), torch.full_like(ids, IGNORE)
    for row in range(ids.shape[0]):
        for place in range(ids.shape[1]):
            if chosen[row, place]:
                targets[row, place] = ids[row, place]
                if dice[row, place] < 8:
                    seen[row, place] = mask_id
                elif dice[row, place] == 8:
                    seen[row, place] = random_ids[row, place]
    return seen, targets


MISTAKES = mistakes(
    right_answer,
    mistake(
        "The targets are what is seen, not what was there.",
        replace={"torch.where(chosen, ids, IGNORE)": "torch.where(chosen, seen, IGNORE)"},
        hint="Your targets are taken from the text after it was changed, so the model would learn "
        "to predict [MASK]. The target is the id that was really there.",
    ),
    mistake(
        "A chosen position that stays as it is has no target.",
        replace={
            "torch.where(chosen, ids, IGNORE)": "torch.where(is_masked | is_random, ids, IGNORE)"
        },
        hint="Where the die shows 9 nothing changes, and you leave the target out there. But the "
        "position is chosen, and so it is to be predicted like the others.",
    ),
    mistake(
        "Only masked positions have a target.",
        replace={"torch.where(chosen, ids, IGNORE)": "torch.where(is_masked, ids, IGNORE)"},
        hint="Your targets are only where [MASK] stands. All chosen positions are to be predicted, "
        "also those with a random id and those that stay.",
    ),
    mistake(
        "Every position has a target.",
        replace={"torch.where(chosen, ids, IGNORE)": "ids.clone()"},
        hint="You give a target to every position. Where nothing is chosen the answer stands "
        "before the model's eyes; the target there is IGNORE.",
    ),
    mistake(
        "All chosen positions become the mask.",
        replace={"chosen & (dice <= 7)": "chosen & (dice < 10)", "dice == 8": "dice > 9"},
        hint="You put mask_id at every chosen position. The die decides: in one case of ten a "
        "random id is seen, and in one of ten the true one.",
    ),
    mistake(
        "The mask stands where the die shows 8, too.",
        replace={"dice <= 7": "dice <= 8", "dice == 8": "dice > 9"},
        hint="You use mask_id for 0 to 8, which is 90 %. From 0 to 7 are eight faces of ten; the "
        "8 stands for the random id.",
    ),
    mistake(
        "The mask stands where the die shows less than 7.",
        replace={"dice <= 7": "dice < 7"},
        hint="Your mask_id stops at 6, which is 70 %. The faces 0 to 7 are eight of ten: 7 belongs "
        "to them.",
    ),
    mistake(
        "The faces 8 and 9 are exchanged.",
        replace={"dice == 8": "dice == 9"},
        hint="You use the random id where the die shows 9 and keep the true one where it shows 8. "
        "It is the other way round.",
        keeps=0.5,
    ),
    mistake(
        "No chosen position stays as it is.",
        replace={"dice == 8": "dice >= 8"},
        hint="You use a random id for 8 and for 9. Where the die shows 9 the true id stays: one "
        "chosen position of ten looks as if nothing had happened.",
    ),
    mistake(
        "The die changes positions that are not chosen.",
        replace={"chosen & (dice <= 7)": "dice <= 7", "chosen & (dice == 8)": "dice == 8"},
        hint="You follow the die everywhere. Only chosen positions may change; at all others the "
        "model sees the true id, whatever the die shows.",
    ),
    mistake(
        "One random id is used at all positions.",
        replace={"is_random, random_ids, seen": "is_random, random_ids.flatten()[:1], seen"},
        hint="You use the first random id everywhere. Each position has one of its own, in the "
        "same place of `random_ids`.",
    ),
    mistake(
        "The two results are exchanged.",
        replace={"return seen, targets": "return targets, seen"},
        hint="Your results come in the wrong order: first what the model sees, then the targets.",
        keeps=0.5,
    ),
    mistake(
        "What is seen is written into the caller's ids.",
        replace={
            "targets = torch.where(chosen, ids, IGNORE)": """
                targets = torch.where(chosen, ids, IGNORE)
                seen = ids.copy_(seen)
            """
        },
        hint="Your results are right, but the caller's ids have changed: you write into them. The "
        "text is needed again in the next epoch, so make a new tensor.",
    ),
    mistake(
        "What was chosen is guessed from what has changed.",
        replace={"torch.where(chosen, ids, IGNORE)": "torch.where(seen != ids, ids, IGNORE)"},
        hint="You give targets where the text has changed. A chosen position may look as before: "
        "where it stays, and where the random id is the true one. Look at `chosen`.",
    ),
    mistake(
        "The target of other positions is 0.",
        replace={"ids, IGNORE": "ids, 0"},
        hint="Where nothing is chosen your target is 0, and that is the id of some token. The "
        "target there is IGNORE, -100, which no token has.",
        keeps=0.5,
    ),
    position_by_position,
)

CHECK = Check(
    item="ps7_corrupt",
    points=9,
    target="corrupt",
    reference=corrupt,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
    equivalent_mutants={
        "seen = ids.masked_fill(chosen & (dice < 8), mask_id)  →  seen = "
        f"ids.masked_fill(chosen & (dice {change}), mask_id)": (
            "Where the die shows 8, the next line puts the random id over the mask."
        )
        for change in ("<= 8", "< 9")
    },
)

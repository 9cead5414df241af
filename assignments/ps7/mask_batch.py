"""The task "a batch with new gaps".

What is drawn is judged by what must hold of many positions. Counts are compared with the share that
the task names, or else with those of the reference: by chance they differ by more than `SURE`
standard deviations less than once in 10^9 times.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from autograder.authoring.checks import Case, Check, Inputs, Judge, Part, mistake, mistakes
from autograder.authoring.compare import saying
from autograder.authoring.rules import not_allowed
from course_pkg.text.batches.masking import choose_tokens, mask_tokens, may_mask

from ..token_ids import IGNORE, Generator
from .corrupt import right_answer as corrupt

# -- inputs ----------------------------------------------------------------------------------------

SURE = 6.2
"""Standard deviations; a normal number is further off less than once in 10^9 times."""
NAMED = {"chosen": 0.15, "masks": 0.8}
"""The shares that the task names."""


def _case(
    rng: Generator,
    label: str,
    special_ids: list[int],
    vocab_size: int,
    *,
    mask_id: int | None = None,
    shape: tuple[int, int] = (200, 300),
    text: list[int] | None = None,
    by_row: bool = False,
) -> Case:
    """Say how the ids are made: of `text`, by default all that is not special, with specials.

    The ids themselves would be much to send; the probe makes them from the seed. By row, each row
    is a batch of its own: whether what is drawn for one says how much of it there is, only many
    small batches tell.
    """
    seed, first = (int(number) for number in rng.integers(2**31, size=2))
    inputs = {
        "seed": seed,
        "first": first,
        "shape": list(shape),
        "special_ids": special_ids,
        "vocab_size": vocab_size,
        "mask_id": special_ids[0] if mask_id is None else mask_id,
        "text": text or [i for i in range(vocab_size) if i not in special_ids],
        "by_row": by_row,
    }
    return Case(f"{label}, {shape[0]} by {shape[1]}{', row by row' * by_row}", inputs)


def _small_batches(rng: Generator) -> Case:
    return _case(rng, "special ids 0 to 3 of 12", [3, 0, 1, 2], 12, shape=(1000, 6), by_row=True)


def draw_batches(rng: Generator) -> list[Case]:
    """Vocabularies with special ids at the start, and anywhere; few ids, often true by chance."""
    return [
        _case(rng, "special ids 0 to 3 of 12", [3, 0, 1, 2], 12),
        _case(rng, "special ids anywhere among 20", [7, 19, 0, 11], 20),
        _small_batches(rng),
        # Many positions: that special ids are put in shows here each time, and not by luck.
        _case(rng, "two ordinary ids", [1, 0, 4], 5, shape=(300, 600)),
    ]


def draw_sizes(rng: Generator) -> list[Case]:
    """Many rows of few positions, in which none may be chosen, as one batch or each as one."""
    return [
        _small_batches(rng),
        _case(rng, "special ids anywhere among 20", [7, 19, 0, 11], 20, shape=(9000, 5)),
        # So many positions that 16 % are as far from 15 % as nearly 12 standard deviations.
        _case(rng, "special ids 0 to 3 of 12", [3, 0, 1, 2], 12, shape=(400, 500)),
    ]


def draw_vocabularies(rng: Generator) -> list[Case]:
    """Special ids at the end, few ordinary ids, texts of few of them."""
    return [
        _case(rng, "special ids at the end of 9", [8, 6, 7], 9),
        _case(rng, "texts of two ids of 9", [2, 5], 9, text=[0, 8]),
        _case(rng, "two ordinary ids", [1, 0, 4], 5),
    ]


def draw_small(rng: Generator) -> list[Case]:
    """Small batches, of which everything is looked at exactly."""
    return [
        _case(rng, "special ids anywhere among 20", [7, 19, 0, 11], 20, shape=(4, 30)),
        _case(rng, "special ids 0 to 3 of 12", [2, 1, 0, 3], 12, shape=(1, 60)),
        _case(rng, "one row of one id", [0, 1], 3, shape=(1, 1)),
        _case(rng, "nothing but special tokens", [4, 0, 2], 9, shape=(3, 5), text=[4, 0, 2]),
        _case(rng, "many ids", [103, 0, 101, 102], 3_000, shape=(3, 40), text=[7, 2_999]),
        # As many random ids as it takes for a special one to be among them, if any may be.
        _case(rng, "two ordinary ids", [1, 0, 4], 5, shape=(12, 30)),
    ]


def draw_long(rng: Generator) -> list[Case]:
    """Two inputs, one with more positions, or rows, than the other."""
    shapes = {"positions": ((2, 24), (2, 264)), "rows": ((24, 2), (264, 2))}
    cases = []
    for what, both in shapes.items():
        ids = [torch.from_numpy(rng.integers(3, 20, size=shape)) for shape in both]
        short, long = ([i, [1, 0, 2], 20, 1] for i in ids)
        inputs = {"arguments": short, "long": long, "n_more": 240, "seed": 5}
        cases.append(Case(f"many {what}", inputs))
    return cases


# -- probes ----------------------------------------------------------------------------------------


def count(implementation, inputs):
    """Return counts, each beside that of which it is a share: what was chosen, what is seen there.

    Positions side by side are also compared, in a row and from row to row: what is drawn for one
    must say nothing of the other; and so does the variance of what is chosen in rows and columns.
    """
    import torch

    dice = torch.Generator().manual_seed(inputs["seed"])
    text = torch.tensor(inputs["text"])
    ids = text[torch.randint(len(text), inputs["shape"], generator=dice)]
    specials = torch.tensor(inputs["special_ids"])
    is_special = torch.rand(ids.shape, generator=dice) < 0.1
    ids[is_special] = specials[torch.randint(len(specials), ids.shape, generator=dice)][is_special]
    generator = torch.Generator().manual_seed(inputs["first"])
    rest = inputs["special_ids"], inputs["vocab_size"], inputs["mask_id"], generator
    batches = [ids.clone()]
    if inputs["by_row"]:
        # In one long row: a few columns may well be left out twice.
        one, other = (implementation(ids.view(1, -1).clone(), *rest) for _ in range(2))
        # Whose draws are always the same loses another part.
        if not all(map(torch.equal, one, other)):
            batches = ids.clone().split(1)
    results = [implementation(batch, *rest) for batch in batches]
    seen, targets = (torch.cat(column) for column in zip(*results, strict=True))

    def share(event, among):
        return [(int((event & among).sum()), int(among.sum()))]

    def neighbours(kind, among):
        # Of the positions that count, in reading order, how often the next is of the same kind.
        found = []
        for k, a in ((kind, among), (kind.T, among.T)):
            row = k[a]
            found.append((int((row[1:] == row[:-1]).sum()), max(len(row) - 1, 0)))
        return found

    def pairs(x):
        # Each position beside its neighbours, its place in the other half, and its mirror image.
        for one in (x, x.T):
            n = one.shape[1] // 2
            yield one[:, 1:], one[:, :-1]
            yield one[:, :n], one[:, n : 2 * n]
            yield one[:, :n], one.flip(1)[:, :n]

    def alike(kind, among):
        # Of the pairs that both count, how many are both of the kind, or neither.
        both = [a & b for a, b in pairs(among)]
        same = [a == b for a, b in pairs(kind)]
        return [(int((s & b).sum()), int(b.sum())) for s, b in zip(same, both, strict=True)]

    chosen, ordinary = targets != -100, ~torch.isin(ids, specials)
    is_mask, is_same = seen == inputs["mask_id"], seen == ids
    is_other = chosen & ~is_mask & ~is_same
    others = seen[is_other]
    seats = torch.arange(inputs["vocab_size"] + 1)
    within = (others >= 0) & (others < inputs["vocab_size"])
    others = torch.where(within, others, inputs["vocab_size"])
    return {
        "chosen": share(chosen, ordinary),
        "chosen specials": share(chosen, ~ordinary),
        "chosen side by side": neighbours(chosen, ordinary) + alike(chosen, ordinary),
        "masks": share(is_mask, chosen),
        "unchanged": share(is_same & ~is_mask, chosen),
        "masks side by side": neighbours(is_mask, chosen) + alike(is_mask, chosen),
        "random ids": [(int((others == i).sum()), len(others)) for i in seats],
        "random ids side by side": neighbours(seen, is_other),
        "rows": [
            (n.var().item(), len(n)) for n in (chosen.double().sum(dim=axis) for axis in (0, 1))
        ],
    }


def look_closely(implementation, inputs):
    """Return what must hold of each single position, as the parts of an exact answer."""
    import torch

    dice = torch.Generator().manual_seed(inputs["seed"])
    text = torch.tensor(inputs["text"])
    specials, found = torch.tensor(inputs["special_ids"]), []
    for number in range(8):
        ids = text[torch.randint(len(text), inputs["shape"], generator=dice)]
        ids.view(-1)[:: 5 + number] = specials[number % len(specials)]
        generator = torch.Generator().manual_seed(inputs["first"] + number)
        laid_out = (
            ids.clone().T.contiguous().T if number % 2 else ids.clone()
        )  # as after a transpose
        result = implementation(
            laid_out, inputs["special_ids"], inputs["vocab_size"], inputs["mask_id"], generator
        )
        seen, targets = result
        chosen = targets != -100
        is_random = chosen & (seen != inputs["mask_id"]) & (seen != ids)
        found.append(
            (
                tuple(seen.shape) == tuple(targets.shape) == tuple(ids.shape),
                torch.equal(targets[chosen], ids[chosen]),
                torch.equal(seen[~chosen], ids[~chosen]),
                not bool((chosen & torch.isin(ids, specials)).any()),
                not bool(torch.isin(seen[is_random], specials).any()),
                bool(((seen >= 0) & (seen < inputs["vocab_size"])).all()),
            )
        )
    return tuple(map(list, zip(*found, strict=True)))


def call_again(implementation, inputs):
    """Return whether the same state gives the same, and a state moved on something else."""
    import random

    import torch

    dice = torch.Generator().manual_seed(inputs["seed"])
    text = torch.tensor(inputs["text"])
    ids = text[torch.randint(len(text), inputs["shape"], generator=dice)]

    def ask(generator):
        seen, targets = implementation(
            ids, inputs["special_ids"], inputs["vocab_size"], inputs["mask_id"], generator
        )
        return [seen.clone(), targets.clone()]

    def same(one, other):
        return all(map(torch.equal, one, other))

    moving = torch.Generator().manual_seed(inputs["first"])
    first, second = ask(moving), ask(moving)
    torch.manual_seed(inputs["seed"] + 1)
    random.seed(inputs["seed"] + 1)
    again = ask(torch.Generator().manual_seed(inputs["first"]))
    other = ask(torch.Generator().manual_seed(inputs["first"] + 1))
    return same(first, again), same(first, second), same(first, other)


def call_and_keep(implementation, inputs):
    """Return what else may change: the ids, the special ids."""
    import torch

    dice = torch.Generator().manual_seed(inputs["seed"])
    text = torch.tensor(inputs["text"])
    ids = text[torch.randint(len(text), inputs["shape"], generator=dice)]
    before, specials = ids.clone(), list(inputs["special_ids"])
    generator = torch.Generator().manual_seed(inputs["first"])
    apart, dtypes = True, None
    try:
        result = implementation(ids, specials, inputs["vocab_size"], inputs["mask_id"], generator)
        dtypes = [str(part.dtype) for part in result]
        result[0].fill_(1)
        result[1].fill_(2)
        apart = bool((result[0] == 1).all())
    except Exception:
        dtypes = None  # whether there is a result is the business of other parts
    return (
        dtypes,
        apart and torch.equal(ids, before),
        specials == inputs["special_ids"],
    )


# -- judges ----------------------------------------------------------------------------------------

Share = tuple[int, int]
"""How many, of how many."""

COMPLAINTS = {
    "chosen": "the share of ordinary positions that are chosen",
    "chosen specials": "the share of special tokens that are chosen",
    "chosen side by side": "how often a position is chosen if its neighbour is",
    "masks": "the share of [MASK] at chosen positions",
    "unchanged": "the share of chosen positions that look as before",
    "masks side by side": "how often [MASK] stands at a chosen position if it does at the next",
    "random ids": "how often some id is the random one",
    "random ids side by side": "how often two random ids in a row are alike",
    "rows": "how much the number of chosen positions varies from row to row or column to column",
}


def differ(one: Share, other: Share) -> bool:
    """Whether two shares are further apart than chance can put them."""
    (k, n), (m, of) = one, other
    if not n or not of:
        return bool(n) != bool(of)
    chance = (k + m) / (n + of)
    # One more count on either side: where hardly anything is counted, normal numbers mislead.
    spread = math.sqrt(chance * (1 - chance) * (1 / n + 1 / of)) + 1 / n + 1 / of
    return abs(k / n - m / of) > SURE * spread


def misses(share: Share, chance: float) -> bool:
    """Whether a share is further from a chance than luck can put it."""
    k, n = share
    return n > 0 and abs(k / n - chance) > SURE * (math.sqrt(chance * (1 - chance) / n) + 1 / n)


def vary_otherwise(one: tuple[float, int], other: tuple[float, int]) -> bool:
    """Whether two variances, of n numbers each, differ more than by chance.

    The logarithm of their ratio has a standard deviation of about sqrt(4 / n).
    """
    (ours, n), (theirs, _) = one, other
    if ours * theirs == 0:
        return ours != theirs
    return abs(math.log(ours / theirs)) > SURE * math.sqrt(4 / n)


def judge_counts(*names: str) -> Judge:
    """Return a judge of some of the counts."""

    def judge(observed: Any, expected: Any, inputs: Inputs) -> str | None:
        if not isinstance(observed, dict) or observed.keys() != expected.keys():
            return "there is nothing to be counted"
        for name in names:
            wrong = vary_otherwise if name == "rows" else differ
            ours, theirs = observed[name], expected[name]
            if len(ours) != len(theirs) or any(map(wrong, ours, theirs)):
                return f"{COMPLAINTS[name]} is not what it should be"
            # A mistake stands in the reference's place at times, and its share may be another.
            chance = NAMED.get(name)
            if chance and misses(ours[0], chance) and not misses(theirs[0], chance):
                return f"{COMPLAINTS[name]} is not what it should be"
        return None

    return judge


# -- the reference version -------------------------------------------------------------------------


def mask_batch(
    ids: Tensor,
    special_ids: Sequence[int],
    vocab_size: int,
    mask_id: int,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Ask the package to choose and to corrupt."""
    chosen = choose_tokens(may_mask(ids, special_ids), 0.15, generator)
    return mask_tokens(
        ids,
        chosen,
        vocab_size=vocab_size,
        mask_id=mask_id,
        special_ids=special_ids,
        generator=generator,
    )


# -- parts -----------------------------------------------------------------------------------------

PARTS = (
    Part(
        "single positions",
        "Targets are true ids, the rest stays, and special ids are never chosen or put in.",
        draw_small,
        look_closely,
        judge=saying(
            "a result has another shape than the ids",
            "a target is not the id that stood there",
            "an id that is not chosen changes",
            "a special id is chosen",
            "a special id other than [MASK] is put in",
            "an id is put in that the vocabulary does not have",
        ),
        weight=2,
    ),
    Part(
        "what is chosen",
        "Of the ordinary positions 15 % are chosen, each independently of the others.",
        draw_sizes,
        count,
        judge=judge_counts("chosen", "chosen specials", "chosen side by side", "rows"),
        weight=2.5,
    ),
    Part(
        "80/10/10",
        "Of the chosen positions 80 % are [MASK], 10 % a random id, 10 % the true one.",
        draw_batches,
        count,
        judge=judge_counts("masks", "unchanged", "masks side by side"),
        weight=3,
    ),
    Part(
        "random ids",
        "Every id that is not special is a random id equally often, and no other id ever.",
        draw_vocabularies,
        count,
        judge=judge_counts("random ids", "random ids side by side"),
        weight=2,
    ),
    Part(
        "the generator",
        "The same state gives the same gaps, another state others, whatever else is seeded.",
        lambda rng: draw_small(rng)[:2],
        call_again,
        judge=saying(
            "the same state of the generator gives other gaps",
            "a second call with the same generator gives the same gaps",
            "another state of the generator gives the same gaps",
        ),
        weight=1.5,
    ),
    Part(
        "nothing else changes",
        "Arguments and torch's own generator stay as they were, and both results are new int64.",
        lambda rng: [*draw_small(rng)[:2], draw_small(rng)[3]],
        call_and_keep,
        judge=saying(
            "there are no two tensors of int64",
            "the call changes the ids, or a result shares its memory",
            "the call changes the special ids",
        ),
        earns_alone=False,
        keeps_process=True,
    ),
    not_allowed(longer=draw_long),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(ids, special_ids, vocab_size, mask_id, generator):
    """The answer that the mistakes start from."""
    is_special = torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator)
    chosen = (draws < 0.15) & ~is_special
    dice = torch.rand(ids.shape, generator=generator)
    ordinary = [i for i in range(vocab_size) if i not in special_ids]
    places = torch.randint(len(ordinary), ids.shape, generator=generator)
    random_ids = torch.tensor(ordinary)[places]
    seen = torch.where(chosen & (dice < 0.8), mask_id, ids)
    seen = torch.where(chosen & (dice >= 0.8) & (dice < 0.9), random_ids, seen)
    targets = torch.where(chosen, ids, IGNORE)
    return seen, targets


@mistake(
    hint="Your gaps are right, but they are drawn piece by piece, in a loop. Draw numbers for all "
    "positions at once: `torch.rand(ids.shape, generator=generator)`."
)
def position_by_position(ids, special_ids, vocab_size, mask_id, generator):
    """The gaps are drawn in a loop."""
    import random

    chance = random.Random(int(torch.randint(2**31, (), generator=generator))).random
    ordinary = [i for i in range(vocab_size) if i not in special_ids]
    specials, texts = set(special_ids), ids.tolist()
    hidden = [[IGNORE] * len(text) for text in texts]
    for text, targets in zip(texts, hidden, strict=True):
        for place, token in enumerate(text):
            if token in specials or chance() >= 0.15:
                continue
            targets[place] = token
            die = chance()
            if die < 0.8:
                text[place] = mask_id
            elif die < 0.9:
                text[place] = ordinary[int(chance() * len(ordinary))]
    return torch.tensor(texts), torch.tensor(hidden)


@mistake(
    hint="You choose the same number of positions in every row. Each position is chosen by itself, "
    "with 15 %: a row may have more or fewer of them."
)
def fixed_number(ids, special_ids, vocab_size, mask_id, generator):
    """Just 15 % of the positions of each row are chosen."""
    is_special = torch.isin(ids, torch.tensor(special_ids))
    draws = torch.rand(ids.shape, generator=generator).masked_fill(is_special, 2.0)
    n = (0.15 * (~is_special).sum(dim=1, keepdim=True)).round()
    chosen = (draws.argsort(dim=1).argsort(dim=1) < n) & ~is_special
    dice = torch.randint(10, ids.shape, generator=generator)
    ordinary = torch.tensor([i for i in range(vocab_size) if i not in special_ids])
    random_ids = ordinary[torch.randint(len(ordinary), ids.shape, generator=generator)]
    return corrupt(ids, chosen, dice, random_ids, mask_id)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "Special tokens are chosen like all others.",
        replace={"(draws < 0.15) & ~is_special": "draws < 0.15"},
        hint="You choose special tokens, too. Nothing is to be learned from guessing a [SEP]: "
        "leave out the positions where a special id stands.",
    ),
    mistake(
        "The same number decides what is chosen and what is seen.",
        replace={"dice = torch.rand(ids.shape, generator=generator)": "dice = draws"},
        hint="You use one draw for both decisions: a draw below 0.15 is below 0.8, too, so every "
        "chosen position becomes [MASK]. Draw again.",
    ),
    mistake(
        "The shares are those of all positions.",
        replace={
            "chosen & (dice < 0.8)": "chosen & (draws < 0.1)",
            "(dice >= 0.8) & (dice < 0.9)": "(draws >= 0.1) & (draws < 0.11)",
        },
        hint="Your shares of [MASK] and random ids do not add up to 80 and 10 of 100 *chosen* "
        "positions. Make a separate draw for these.",
    ),
    mistake(
        "The mask is put in at 90 %.",
        replace={
            "chosen & (dice < 0.8)": "chosen & (dice < 0.9)",
            "(dice >= 0.8) & (dice < 0.9)": "(dice >= 0.9) & (dice < 1.0)",
        },
        hint="You put [MASK] at 90 % of the chosen positions, or leave none of them as it is. The "
        "shares are 80, 10 and 10 of 100.",
    ),
    mistake(
        "No chosen position stays as it is.",
        replace={"(dice < 0.9), random_ids": "(dice < 1.0), random_ids"},
        hint="You put a random id wherever [MASK] does not stand, at 20 % of the chosen positions. "
        "Half of these stay as they are.",
    ),
    mistake(
        "No random id is ever put in.",
        replace={"(dice >= 0.8) & (dice < 0.9)": "(dice >= 0.8) & (dice < 0.8)"},
        hint="Your chosen positions become [MASK] or stay as they are. One of ten becomes a random "
        "id.",
    ),
    mistake(
        "The rate is 80 % and not 15 %.",
        replace={"draws < 0.15": "draws < 0.8"},
        hint="You choose most of the positions. It is 15 % that are chosen; the 80 % are of these, "
        "and say how many become [MASK].",
    ),
    mistake(
        "The random ids are any of the vocabulary, special ones included.",
        replace={
            "[i for i in range(vocab_size) if i not in special_ids]": "list(range(vocab_size))"
        },
        hint="Your random ids may be [CLS] or padding. Only ids that are not special may be put "
        "in: make a list of these and draw places in it.",
    ),
    mistake(
        "The random ids are those that come after the special ones.",
        replace={
            "[i for i in range(vocab_size) if i not in special_ids]": (
                "list(range(min(max(special_ids) + 1, vocab_size - 1), vocab_size))"
            )
        },
        hint="You draw random ids above the largest special one. Special ids may lie anywhere, "
        "also at the end: list the ordinary ones.",
    ),
    mistake(
        "The largest id is never drawn.",
        replace={"torch.randint(len(ordinary),": "torch.randint(max(len(ordinary) - 1, 1),"},
        hint="One ordinary id is never put in: you draw one place too few. In torch's randint the "
        "upper end is left out already.",
    ),
    mistake(
        "The random id is never the true one.",
        replace={
            "random_ids = torch.tensor(ordinary)[places]": """
                random_ids = torch.tensor(ordinary)[places]
                for _ in range(12):
                    again = torch.randint(len(ordinary), ids.shape, generator=generator)
                    random_ids = torch.where(
                        random_ids == ids, torch.tensor(ordinary)[again], random_ids
                    )
            """
        },
        hint="You draw again where the random id is the true one. It may be: each ordinary id is "
        "put in equally often, whatever stood there.",
    ),
    mistake(
        "One random id is drawn for the whole batch.",
        replace={"len(ordinary), ids.shape,": "len(ordinary), (1, 1),"},
        hint="All your random ids of a batch are alike. Draw one for each position.",
    ),
    mistake(
        "The same columns are chosen in all rows.",
        replace={
            "draws = torch.rand(ids.shape, generator=generator)": (
                "draws = torch.rand(ids.shape[1:], generator=generator)"
            )
        },
        hint="You choose the same positions in every row: your draws have the shape of one row. "
        "Each position of the batch needs a draw of its own.",
    ),
    mistake(
        "One die is thrown for each row.",
        replace={
            "dice = torch.rand(ids.shape, generator=generator)": (
                "dice = torch.rand((len(ids), 1), generator=generator)"
            )
        },
        hint="You draw once for each row, so all its chosen positions are treated alike. Draw "
        "for each position.",
    ),
    mistake(
        "Torch's own generator is used for the choice.",
        replace={
            "draws = torch.rand(ids.shape, generator=generator)": "draws = torch.rand(ids.shape)"
        },
        hint="You draw from torch's own generator, so the given one does not decide. Hand it on in "
        "each call that draws: `generator=generator`.",
    ),
    mistake(
        "The generator is seeded anew.",
        replace={
            "is_special = torch.isin(ids, torch.tensor(special_ids))": """
                generator = torch.Generator().manual_seed(generator.initial_seed())
                is_special = torch.isin(ids, torch.tensor(special_ids))
            """
        },
        hint="You begin with the generator's seed in each call, and so every batch has the same "
        "gaps. Draw from the generator as it is: it moves on by itself.",
    ),
    mistake(
        "The seed is a constant.",
        replace={
            "is_special = torch.isin(ids, torch.tensor(special_ids))": """
                generator = torch.Generator().manual_seed(0)
                is_special = torch.isin(ids, torch.tensor(special_ids))
            """
        },
        hint="You seed a generator of your own, and so every batch of every run has the same gaps. "
        "Draw from the one that is given.",
    ),
    mistake(
        "The targets are what is seen.",
        replace={"torch.where(chosen, ids, IGNORE)": "torch.where(chosen, seen, IGNORE)"},
        hint="Your targets are taken from the text after it was changed. The target is the id that "
        "was really there.",
    ),
    mistake(
        "Only masked positions have a target.",
        replace={
            "torch.where(chosen, ids, IGNORE)": "torch.where(chosen & (dice < 0.8), ids, IGNORE)"
        },
        hint="Your targets are only where [MASK] stands, which is 12 % of the positions. All "
        "chosen ones are to be predicted.",
    ),
    mistake(
        "The text is masked in place.",
        replace={
            "return seen, targets": """
                ids.copy_(seen)
                return seen, targets
            """
        },
        hint="Your results are right, but the caller's ids are others than before: something is "
        "written into them. The next epoch needs the text as it was, so make new tensors.",
    ),
    fixed_number,
    position_by_position,
)

CHECK = Check(
    item="ps7_mask_batch",
    points=10,
    target="mask_batch",
    reference=mask_batch,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=20.0,
)

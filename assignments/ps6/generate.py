"""The task "write, with a cache"."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from autograder.authoring.checks import (
    Case,
    Check,
    Inputs,
    Part,
    mistake,
    mistakes,
    nothing_else_changes,
)
from autograder.authoring.compare import agree

from ..contracts import LAYOUTS
from ..tensors import Generator
from .inputs import exact

# -- inputs ----------------------------------------------------------------------------------------
# The model is an automaton: what follows depends on all ids of a row and on their order. Whether
# and when it comes to an end is fixed, so its table is the same for everybody but for the names of
# its ids.

V = 11
_N_STATES = 97


def _table(rng: Generator, plan: Sequence[Sequence[int]], prompt: Tensor) -> Tensor:
    """Make logits by which each row writes its plan, and goes on at random after it."""
    noise = torch.from_numpy(rng.permuted(torch.arange(V).repeat(_N_STATES, 1).numpy(), axis=1))
    table = noise.double() / 3  # what no coarser dtype holds
    for row, ids in zip(prompt.tolist(), plan, strict=True):
        state = 0
        for i in row:
            state = _next_state(state, i)
        for i in ids:
            table[state, i] = 100.0
            state = _next_state(state, i)
    return table


def _next_state(state: int, i: int) -> int:
    return (31 * state + 7 * i + 11) % _N_STATES


def _case(
    rng: Generator,
    prompt: Sequence[Sequence[int]],
    n_tokens: int,
    stop_id: int | None,
    plan: Sequence[Sequence[int]],
    what: str = "",
) -> Case:
    ids = torch.tensor(prompt)
    B, T = ids.shape
    label = f"{B} prompts of {T}, n_tokens {n_tokens}, stop_id {stop_id}{what}"
    inputs = {
        "table": _table(rng, plan, ids),
        "prompt": ids,
        "n_tokens": n_tokens,
        "stop_id": stop_id,
    }
    return Case(label, inputs)


def draw_texts(rng: Generator) -> list[Case]:
    """Texts that no id ends."""
    return [
        _case(rng, [[3]], 3, None, [[5, 2, 8]]),
        _case(rng, [[1, 4, 2]], 5, None, [[7, 7, 0, 10, 3]]),
        _case(rng, [[2, 6], [9, 1]], 4, None, [[5, 0, 3, 8], [4, 4, 1, 10]]),
        _case(
            rng,
            [[1, 2, 3, 4], [4, 3, 2, 1], [0, 0, 5, 5]],
            6,
            None,
            [[9, 8, 7, 6, 5, 4], [0, 1, 0, 1, 0, 1], [10, 2, 10, 3, 10, 4]],
        ),
    ]


def draw_ends(rng: Generator) -> list[Case]:
    """Texts that end early, at unlike lengths."""
    return [
        _case(rng, [[3, 1]], 6, 9, [[5, 2, 9]], ", which comes third"),
        _case(rng, [[3, 1], [2, 4]], 6, 9, [[5, 9], [6, 7, 8, 9]], ": second and fourth"),
        _case(
            rng,
            [[3, 1, 2], [2, 4, 4], [7, 0, 1]],
            5,
            6,
            [[5, 4, 6], [6], [1, 2, 3, 4, 5]],
            ": third, first, never",
        ),
        _case(rng, [[5], [8]], 7, 2, [[2], [2]], ": both at once"),
        _case(rng, [[5], [8]], 3, 2, [[1, 4, 2], [2]], ": with the last id"),
    ]


def draw_prompts(rng: Generator) -> list[Case]:
    """The id that ends a text stands in prompts."""
    return [
        _case(rng, [[9, 1]], 4, 9, [[5, 2, 9, 3]], ", which the prompt begins with"),
        _case(rng, [[1, 9], [9, 9]], 4, 9, [[5, 2, 9, 3], [3, 9, 4, 6]], ", which ends prompts"),
        _turned(_case(rng, [[1, 9, 3], [9, 4, 4]], 4, 9, [[5, 2, 9], [3, 9, 4]])),
    ]


def _turned(case: Case) -> Case:
    return Case(f"{case.label}, {LAYOUTS['turned']}", {**case.inputs, "turned": True})


def draw_edges(rng: Generator) -> list[Case]:
    """Nothing to write, a single id, id 0 as the end."""
    return [
        _case(rng, [[3, 1], [4, 4]], 0, 9, [[], []], ": nothing"),
        _case(rng, [[3, 1], [4, 4]], 1, 9, [[5], [6]]),
        _case(rng, [[3, 1], [4, 4]], 1, 5, [[5], [6]]),
        _case(rng, [[3, 1], [4, 4]], 6, 0, [[2, 0], [6, 6, 0]], ": the id 0"),
        _case(rng, [[3, 1]], 4, 10, [[7, 10]], ": the largest id"),
        _case(rng, [[4, 4]], 3, None, [[0, 0, 0]], ": zeros"),
    ]


def draw_long(rng: Generator) -> list[Case]:
    """A long text, and a short one of which no length is known."""
    prompt = torch.from_numpy(np.stack([rng.permutation(3) for _ in range(2)]))
    return [
        Case(
            label, {"prompt": prompt, "n_tokens": n_tokens, "stop_id": stop_id, "ends_after": ends}
        )
        for label, n_tokens, stop_id, ends in [
            ("a text of 1100 ids", 1100, None, 2000),
            ("a very large n_tokens, a text that ends soon", 10**12, 2, 4),
        ]
    ]


def draw_caches(rng: Generator) -> list[Case]:
    """Caches of other kinds."""
    return [
        Case(f"{case.label}, {what}", {**case.inputs, "cache": kind})
        for kind, what in [
            ("none", "a cache of None"),
            ("kept", "a cache that keeps what is read"),
            ("empty", "an empty tuple as the cache"),
        ]
        for case in (draw_texts(rng)[2], draw_ends(rng)[1])
    ]


def draw_work(rng: Generator) -> list[Case]:
    """Texts of all kinds, of which it is noted what is read."""
    return [*draw_texts(rng)[1:], *draw_ends(rng), draw_edges(rng)[0]]


def draw_some(rng: Generator) -> list[Case]:
    """Texts of all kinds."""
    return [draw_texts(rng)[2], *draw_ends(rng)[1:3], *draw_edges(rng)[:2]]


# -- probes ----------------------------------------------------------------------------------------


def write(implementation, inputs):
    """Return the texts."""
    import torch

    table = inputs["table"]
    newest = [None]

    def read(ids, cache):
        # The cache holds the state of each row; once another was returned, it is used up.
        if cache is not None and cache is not newest[0]:
            raise RuntimeError("a cache that is no longer valid")
        states = [0] * len(ids) if cache is None else list(cache)
        rows = []
        for i in range(ids.shape[1]):
            states = [
                (31 * s + 7 * int(n) + 11) % len(table)
                for s, n in zip(states, ids[:, i], strict=True)
            ]
            rows.append(table[states])
        newest[0] = states
        return torch.stack(rows, dim=1), states

    def choose(logits):
        return logits.argmax(dim=-1)

    prompt = inputs["prompt"].clone()
    if "turned" in inputs:
        prompt = prompt.T.contiguous().T
    return implementation(read, choose, prompt, inputs["n_tokens"], inputs["stop_id"])


def watch(implementation, inputs):
    """Return what was read, with which cache, and what `choose` was given, call by call."""
    import torch

    table, calls, caches = inputs["table"], [], []

    def read(ids, cache):
        if len(calls) > 60:
            raise RuntimeError("called far too often")
        known = [number for number, kept in enumerate(caches) if kept is cache]
        calls.append(("read", ids.tolist(), None if cache is None else known[-1]))
        states = [0] * len(ids) if cache is None else list(cache)
        rows = []
        for i in range(ids.shape[1]):
            states = [
                (31 * s + 7 * int(n) + 11) % len(table)
                for s, n in zip(states, ids[:, i], strict=True)
            ]
            rows.append(table[states])
        caches.append(states)
        return torch.stack(rows, dim=1), states

    def choose(logits):
        seen = tuple(logits.shape), str(logits.dtype), logits.double().sum(dim=-1).tolist()
        calls.append(("choose", *seen))
        return logits.argmax(dim=-1)

    implementation(read, choose, inputs["prompt"].clone(), inputs["n_tokens"], inputs["stop_id"])
    return calls


def write_long(implementation, inputs):
    """Return the texts of a model that says 1 again and again, and then 2."""
    import torch

    n_calls = [0]

    def read(ids, cache):
        n_calls[0] += 1
        if n_calls[0] > 1200:
            raise RuntimeError("called far too often")
        said = 2 if n_calls[0] >= inputs["ends_after"] else 1
        logits = (torch.arange(3) == said).double()
        return logits.expand(*ids.shape, 3), n_calls[0]

    def choose(logits):
        return logits.argmax(dim=-1)

    prompt = inputs["prompt"].clone()
    return implementation(read, choose, prompt, inputs["n_tokens"], inputs["stop_id"])


def write_with_odd_caches(implementation, inputs):
    """Return the texts of a model whose cache is None or empty, or holds what it got."""
    import torch

    table, own = inputs["table"], []

    def read(ids, cache, /):
        if inputs["cache"] == "kept":
            seen = kept = [*(cache or ()), ids]
        else:  # the model remembers by itself, and a whole text that comes again is read again
            if inputs["cache"] == "empty" and own and cache != ():
                raise RuntimeError("a cache that was not returned")
            own.append(ids.clone())
            seen, kept = own, () if inputs["cache"] == "empty" else None
        states, rows = [0] * len(ids), []
        for n in torch.cat(seen, dim=1).unbind(dim=1):
            states = [
                (31 * s + 7 * int(i) + 11) % len(table) for s, i in zip(states, n, strict=True)
            ]
            rows.append(table[states])
        return torch.stack(rows[-ids.shape[1] :], dim=1), kept

    prompt = inputs["prompt"].clone()

    def choose(logits, /):
        return logits.argmax(dim=-1)

    return implementation(read, choose, prompt, inputs["n_tokens"], inputs["stop_id"])


def choose_otherwise(implementation, inputs):
    """Return the texts where not the likeliest id is chosen, but each time another place's."""
    import torch

    table, newest, n_chosen = inputs["table"], [None], [0]

    def read(ids, cache):
        states = [0] * len(ids) if cache is None else list(cache)
        rows = []
        for i in range(ids.shape[1]):
            states = [
                (31 * s + 7 * int(n) + 11) % len(table)
                for s, n in zip(states, ids[:, i], strict=True)
            ]
            rows.append(table[states])
        newest[0] = states
        return torch.stack(rows, dim=1), states

    def choose(logits):
        n_chosen[0] += 1
        return logits.argsort(dim=-1, descending=True)[:, 1 + n_chosen[0] % 3]

    return implementation(read, choose, inputs["prompt"].clone(), inputs["n_tokens"], None)


def write_twice(implementation, inputs):
    """Return nothing, and whether all stays as it was: prompt, answers, a second text."""
    import torch

    table, prompt = inputs["table"], inputs["prompt"]
    answers = []

    def read(ids, cache):
        states = [0] * len(ids) if cache is None else list(cache)
        rows = []
        for i in range(ids.shape[1]):
            states = [
                (31 * s + 7 * int(n) + 11) % len(table)
                for s, n in zip(states, ids[:, i], strict=True)
            ]
            rows.append(table[states])
        logits = torch.stack(rows, dim=1)
        answers.append((logits, logits.clone()))
        return logits, states

    def choose(logits):
        chosen = logits.argmax(dim=-1)
        answers.append((chosen, chosen.clone()))
        return chosen

    def ask():
        try:
            return implementation(read, choose, prompt, inputs["n_tokens"], inputs["stop_id"])
        except Exception:
            return None  # whether there is a text is the business of other parts

    text = ask()
    kept = text.tolist() if isinstance(text, torch.Tensor) else None
    again = ask()
    same = (again.tolist() if isinstance(again, torch.Tensor) else None) == kept
    untouched = all(torch.equal(now, before) for now, before in answers)
    before = prompt.clone()
    if isinstance(text, torch.Tensor) and text.numel() and not text.requires_grad:
        text.fill_(-7)  # a new tensor, so the prompt does not change
    return None, same, untouched, torch.equal(before, prompt), prompt


# -- the reference version -------------------------------------------------------------------------


def generate(
    read: Callable[[Tensor, Any], tuple[Tensor, Any]],
    choose: Callable[[Tensor], Tensor],
    prompt: Tensor,
    n_tokens: int,
    stop_id: int | None,
) -> Tensor:
    """Do what the package's loop does, with a list of ids for each row."""
    rows = prompt.tolist()
    finished, unread, cache = [False] * len(rows), prompt.clone(), None
    while n_tokens > 0 and not all(finished):
        logits, cache = read(unread, cache)
        chosen = choose(logits[:, -1]).tolist()
        chosen = [stop_id if over else i for i, over in zip(chosen, finished, strict=True)]
        finished = [stop_id is not None and i == stop_id for i in chosen]
        rows = [[*row, i] for row, i in zip(rows, chosen, strict=True)]
        unread, n_tokens = torch.tensor(chosen)[:, None], n_tokens - 1
    return torch.tensor(rows)


# -- parts -----------------------------------------------------------------------------------------


def _judge_calls(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    """Say which calls are wrong, without showing the right ones."""
    if type(observed) is not list:
        return "the calls could not be watched"
    read = [[call for call in calls if call[0] == "read"] for calls in (observed, expected)]
    if len(read[0]) != len(read[1]):
        more = "more" if len(read[0]) > len(read[1]) else "less"
        return f"read is called {more} often than once for each added column"
    if [call[1] for call in read[0]] != [call[1] for call in read[1]]:
        return "read gets other ids than the prompt, and then the newest of each row"
    if [call[2] for call in read[0]] != [call[2] for call in read[1]]:
        return "read gets another cache than the one that it returned last"
    if _same_calls(observed, expected, inputs) is not None:
        return "choose gets other logits than those of the last position, or is called more often"
    return None


def _judge_dtype(observed: Any, expected: Any, inputs: Inputs) -> str | None:
    if isinstance(observed, Tensor) and observed.dtype != torch.int64:
        return f"the result is of dtype {str(observed.dtype).removeprefix('torch.')}"
    return None


_same_calls = agree(rtol=1e-9, atol=1e-9)

PARTS = (
    Part(
        "texts",
        "Each new id is chosen by the logits of the last position, and appended to its row.",
        draw_texts,
        write,
        judge=exact,
        weight=3,
    ),
    Part(
        "ends",
        "A finished row is filled with stop_id; the text ends when all rows are finished.",
        draw_ends,
        write,
        judge=exact,
        weight=3,
    ),
    Part(
        "work",
        "The prompt is read once, then each new id, with the cache that read returned last.",
        draw_work,
        watch,
        judge=_judge_calls,
        weight=4,
    ),
    Part(
        "prompts",
        "In the prompt stop_id means nothing, and it may lie in memory in any order.",
        draw_prompts,
        write,
        judge=exact,
        weight=1,
    ),
    Part(
        "edges",
        "Nothing may be to write, and any id may end a text, or none.",
        draw_edges,
        write,
        judge=exact,
        weight=1,
    ),
    Part(
        "lengths",
        "A text may be long, and n_tokens far larger than the text.",
        draw_long,
        write_long,
        judge=exact,
        weight=0.5,
    ),
    Part(
        "caches",
        "A cache may be None, and read may keep what it gets; arguments go by position.",
        draw_caches,
        write_with_odd_caches,
        judge=exact,
        weight=0.5,
    ),
    Part(
        "choice",
        "The ids are those that choose returns.",
        draw_texts,
        choose_otherwise,
        judge=exact,
        weight=1,
    ),
    Part(
        "dtype",
        "The result is int64.",
        draw_some,
        write,
        judge=_judge_dtype,
        weight=0.5,
        earns_alone=False,
    ),
    nothing_else_changes(
        "Prompt and answers stay as they are, the text is a new tensor, and a second one agrees.",
        draw_some,
        write_twice,
        says=(
            "a second call gives something else",
            "what the model has returned is changed",
            "the text shares its memory with the prompt",
            "the call changes the prompt",
        ),
    ),
)


# -- mistakes --------------------------------------------------------------------------------------


def right_answer(read, choose, prompt, n_tokens, stop_id):
    """The answer that the mistakes start from."""
    text, cache, newest = prompt.clone(), None, prompt
    finished = torch.zeros(len(prompt), dtype=torch.bool)
    for _ in range(n_tokens):
        logits, cache = read(newest, cache)
        added = choose(logits[:, -1])
        if stop_id is not None:
            added = torch.where(finished, stop_id, added)
            finished = added == stop_id
        newest = added[:, None]
        text = torch.cat([text, newest], dim=1)
        if finished.all():
            break
    return text


@mistake(
    hint="Your texts are right, but you continue one row after the other, with separate calls "
    "for each. A model reads a whole batch for little more than the cost of one row."
)
def row_by_row(read, choose, prompt, n_tokens, stop_id):
    """Each row is continued by itself."""
    rows = [right_answer(read, choose, row[None], n_tokens, stop_id)[0] for row in prompt]
    length = max(map(len, rows))
    full = prompt.new_full((len(rows), length), 0 if stop_id is None else stop_id)
    for place, row in enumerate(rows):
        full[place, : len(row)] = row
    return full


@mistake(
    hint="Your texts are right, but each new id is a call inside a call, and Python allows about a "
    "thousand of these. A text may be longer: write a loop."
)
def recursion(read, choose, prompt, n_tokens, stop_id):
    """A call writes one id, and calls itself for the rest."""

    def go_on(newest, cache, left, over):
        if left == 0 or all(over):
            return []
        logits, cache = read(newest, cache)
        ids = choose(logits[:, -1]).tolist()
        ids = [stop_id if done else i for i, done in zip(ids, over, strict=True)]
        over = [i == stop_id for i in ids]
        column = torch.tensor(ids).reshape(-1, 1)
        return [column, *go_on(column, cache, left - 1, over)]

    return torch.cat([prompt, *go_on(prompt, None, n_tokens, [False] * len(prompt))], dim=1)


MISTAKES = mistakes(
    right_answer,
    mistake(
        "All room is taken at once.",
        replace={
            "text, cache, newest = prompt.clone(), None, prompt": (
                "text, cache, newest = prompt.clone(), None, prompt\n"
                "room = torch.empty(len(prompt), n_tokens, dtype=torch.int64)"
            )
        },
        hint="You take room for n_tokens ids before the first is written. It may be a very large "
        "number that only says: until the end. Let the text grow.",
    ),
    mistake(
        "Whoever gets no cache is given the whole text.",
        replace={"read(newest, cache)": "read(text if cache is None else newest, cache)"},
        hint="You take a cache of None for the first call. A model that needs none may return None "
        "each time: what is read next does not depend on it.",
    ),
    mistake(
        "The newest ids are written into one tensor for all calls.",
        replace={
            "newest = added[:, None]": (
                "newest = added[:, None] if newest is prompt else newest.copy_(added[:, None])"
            )
        },
        hint="You hand the same tensor to `read` each time, with new ids in it. A model may keep "
        "what it has got: make a new tensor for each call.",
    ),
    mistake(
        "Gradients are switched off for good.",
        replace={
            "finished = torch.zeros(len(prompt), dtype=torch.bool)": (
                "torch.set_grad_enabled(False)\n"
                "finished = torch.zeros(len(prompt), dtype=torch.bool)"
            )
        },
        hint="You switch torch's gradients off, and they stay off: whoever trains next learns "
        "nothing. Leave torch's settings to the caller.",
    ),
    mistake(
        "The whole text is read anew each time, without a cache.",
        replace={"read(newest, cache)": "read(text, None)"},
        hint="Your texts are right, but you let the model read everything again for each new id. "
        "Hand on the cache, and only the ids that it has not seen.",
    ),
    mistake(
        "The whole text is read into the cache again and again.",
        replace={"read(newest, cache)": "read(text, cache)"},
        hint="You hand on the cache *and* the whole text, so the model reads its beginning many "
        "times over. The cache has seen it: only the newest ids are new.",
    ),
    mistake(
        "The newest ids are read without the cache.",
        replace={"read(newest, cache)": "read(newest, None)"},
        hint="You hand the newest ids to the model, but not the cache. So it has forgotten "
        "everything that came before them.",
    ),
    mistake(
        "The first cache is kept.",
        replace={
            "logits, cache = read(newest, cache)": (
                "logits, after = read(newest, cache)\ncache = after if cache is None else cache"
            )
        },
        hint="You hand on the cache of the first call again and again. Each call returns the cache "
        "that goes with the next one; the old one may be invalid.",
    ),
    mistake(
        "The logits of the first position are used.",
        replace={"logits[:, -1]": "logits[:, 0]"},
        hint="You choose by the logits of the first position that was read. What follows the "
        "prompt is predicted at its last position: `logits[:, -1]`.",
    ),
    mistake(
        "The logits of all positions are handed to choose.",
        replace={"choose(logits[:, -1])": "choose(logits)[:, -1]"},
        hint="You hand `choose` the logits of all positions. It takes one row for each text, of "
        "shape (B, V).",
    ),
    mistake(
        "The likeliest id is taken, and choose is not asked.",
        replace={"choose(logits[:, -1])": "logits[:, -1].argmax(dim=-1)"},
        hint="You take the likeliest id yourself. How to choose is the caller's business: ask "
        "`choose`.",
    ),
    mistake(
        "Finished rows go on.",
        replace={
            "added = torch.where(finished, stop_id, added)": "pass",
            "finished = added == stop_id": "finished = finished | (added == stop_id)",
        },
        hint="A finished row goes on writing while others are not finished. From its end on it "
        "gets nothing but stop_id.",
    ),
    mistake(
        "The text ends as soon as one row is finished.",
        replace={"finished.all()": "finished.any()"},
        hint="You stop when the first row is finished, and cut the others off. The text ends when "
        "*all* rows are.",
    ),
    mistake(
        "The text never ends early.",
        replace={"if finished.all():": "if False:"},
        hint="You go on until n_tokens are written, even if all rows are finished. Then nobody "
        "will read what the model computes: stop.",
    ),
    mistake(
        "The end in a prompt counts.",
        replace={
            "torch.zeros(len(prompt), dtype=torch.bool)": (
                "(prompt == stop_id).any(dim=1) if stop_id is not None else"
                " torch.zeros(len(prompt), dtype=torch.bool)"
            )
        },
        hint="You treat a row as finished if its *prompt* contains stop_id. It ends a text only "
        "where it was generated; many prompts begin with it.",
    ),
    mistake(
        "The id 0 ends no text.",
        replace={"if stop_id is not None:": "if stop_id:"},
        hint="You test `if stop_id`, and 0 counts as False. Any id may end a text; only None means "
        "that none does.",
    ),
    mistake(
        "The model reads what was chosen for finished rows.",
        replace={
            "added = torch.where(finished, stop_id, added)": (
                "chosen, added = added, torch.where(finished, stop_id, added)"
            ),
            "newest = added[:, None]": ("newest = (added if stop_id is None else chosen)[:, None]"),
            "torch.cat([text, newest], dim=1)": "torch.cat([text, added[:, None]], dim=1)",
        },
        hint="Your texts are right, but in finished rows the model reads what was chosen, and not "
        "stop_id, which is in the text. What it reads must be what is written.",
    ),
    mistake(
        "The last id is read, though nobody asks what follows it.",
        replace={
            "logits, cache = read(newest, cache)": (
                "logits, cache = read(newest, cache) if cache is None else (logits, cache)"
            ),
            "text = torch.cat([text, newest], dim=1)": (
                "text = torch.cat([text, newest], dim=1)\nlogits, cache = read(newest, cache)"
            ),
        },
        hint="You read each id as soon as it has been added, the last one too. One call of `read` "
        "for each added column is enough.",
    ),
    mistake(
        "The prompt counts among the tokens to be written.",
        replace={"range(n_tokens)": "range(n_tokens - prompt.shape[1])"},
        hint="You stop when the whole text has n_tokens ids. They are added to the prompt: the "
        "text has up to T + n_tokens.",
        keeps=0.5,
    ),
    mistake(
        "One id too few is written.",
        replace={"range(n_tokens)": "range(1, n_tokens)"},
        hint="You add one id less than asked. The first call of `read` gives the first new id, so "
        "n_tokens ids take as many calls.",
        keeps=0.5,
    ),
    mistake(
        "Only what was added is returned.",
        replace={"return text": "return text[:, prompt.shape[1] :]"},
        hint="You return the new ids alone. The result is the whole text: prompts and what was "
        "written.",
        keeps=0.5,
    ),
    mistake(
        "Finished rows are left out of the batch.",
        replace={
            "added = choose(logits[:, -1])": (
                "added = torch.zeros(len(prompt), dtype=torch.int64)\n"
                "added[~finished] = choose(logits[:, -1][~finished])"
            )
        },
        hint="You ask `choose` about unfinished rows only. It gets the logits of all rows, in "
        "their order, so that a row's random numbers do not depend on its neighbours.",
    ),
    mistake(
        "With nothing to write, the caller's own prompt is returned.",
        replace={
            "text, cache, newest = prompt.clone(), None, prompt": (
                "text, cache, newest = prompt, None, prompt"
            )
        },
        hint="With n_tokens 0 you return the prompt itself. Who then writes into the result "
        "changes the prompt, too: return a new tensor.",
    ),
    mistake(
        "The ids are int32.",
        replace={"return text": "return text.int()"},
        hint="Your ids are right, but int32. The contract says int64, which torch's embeddings "
        "expect: leave the dtype as it is.",
    ),
    row_by_row,
    recursion,
)

CHECK = Check(
    item="ps6_generate",
    points=12,
    target="generate",
    reference=generate,
    parts=PARTS,
    mistakes=MISTAKES,
    seconds=5.0,
)

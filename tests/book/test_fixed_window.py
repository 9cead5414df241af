"""The chapter on the fixed window: its derivations on other numbers, its solutions, its rows."""

import math
import statistics
from collections import Counter
from pathlib import Path

import pytest
import torch

from benchmarks.chapters import votes
from course_pkg import widgets
from course_pkg.models.window import FixedWindowLM
from course_pkg.results import RECORDED, benchmark, chapter_results
from course_pkg.text.corpora import load_corpus
from course_pkg.text.tokenizers import WordTokenizer
from tests.book.solutions import code_cells, printed_by_solutions
from tests.book.test_browser import covered_labels

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "chapters" / "fixed_window.md").read_text(encoding="utf-8")
RECORD = benchmark("window")
AXE = (ROOT / "third_party" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


def test_gradient_by_the_scores_is_what_was_said_minus_what_came(rng):
    z, y, epsilon = torch.randn(7, dtype=torch.float64, generator=rng), 3, 1e-6

    def loss(scores: torch.Tensor) -> float:
        return math.log(sum(math.exp(s) for s in scores.tolist())) - float(scores[y])

    p = z.exp() / z.exp().sum()
    for i in range(7):
        step = torch.zeros(7, dtype=torch.float64)
        step[i] = epsilon
        difference = (loss(z + step) - loss(z - step)) / (2 * epsilon)
        # 1e-8: rounding of the loss, 1e-16, over the step
        assert difference == pytest.approx(float(p[i]) - (i == y), abs=1e-8)


@pytest.mark.parametrize(("rate", "shrinks"), [(0.3, True), (1.9, True), (2.1, False)])
def test_steps_in_a_valley_shrink_below_two_over_the_curvature_only(rate, shrinks):
    curvature = 5.0
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    for _ in range(20):
        (gradient,) = torch.autograd.grad(curvature * x * x / 2, x)
        x = (x - rate / curvature * gradient).detach().requires_grad_()
    assert (abs(x.item()) < 1) == shrinks


def test_bias_alone_has_no_gradient_at_relative_frequencies():
    counts = torch.tensor([5.0, 1.0, 3.0, 2.0], dtype=torch.float64)
    targets = torch.repeat_interleave(torch.arange(4), counts.long())
    b = (counts / counts.sum()).log().requires_grad_()
    torch.nn.functional.cross_entropy(b.expand(len(targets), 4), targets).backward()
    assert b.grad.abs().max() < 1e-12  # rounding of float64
    (moved,) = torch.autograd.grad(
        torch.nn.functional.cross_entropy((b + torch.arange(4)).expand(11, 4), targets), b
    )
    assert moved.abs().max() > 0.01


def test_worked_exercise_counts_the_parameters_of_the_model():
    def n_parameters(window: int, has_direct: bool = False) -> int:
        model = FixedWindowLM(18_000, window, 100, 60, eos_id=0, has_direct=has_direct)
        return sum(weight.numel() for weight in model.parameters())

    assert n_parameters(5) == 2_928_060
    assert n_parameters(10) - n_parameters(5) == 30_000
    assert n_parameters(5, has_direct=True) - n_parameters(5) == 9_000_000
    assert "2{,}928{,}060" in PAGE


def test_recorded_rows_are_those_of_the_benchmark():
    rows = {row.model: row for row in chapter_results("fixed_window") if row.source == RECORDED}
    assert set(rows) == {"window of 4", "window of 4, mixed with 5-gram"}
    for row, key in zip(rows.values(), ("window of 4", "both"), strict=True):
        assert row.perplexity == RECORD["rows"][key]["test_perplexity"]
        assert row.bits_per_byte == RECORD["rows"][key]["bits_per_byte"]


def test_benchmark_counts_as_the_chapter_on_n_grams_does():
    """The same vocabulary, splits and smoothing: the 5-gram of both has one perplexity."""
    of_ngrams = next(
        row
        for row in chapter_results("ngrams")
        if (row.model, row.corpus) == ("5-gram", "wikipedia")
    )
    assert RECORD["rows"]["5-gram"]["test_perplexity"] == pytest.approx(of_ngrams.perplexity)
    # Sorting words by their history splits the mean of all words into means of the groups.
    for row in RECORD["rows"].values():
        groups = zip(row["nats_by_known_history"], RECORD["share_by_known_history"], strict=True)
        mean = sum(nats * share for nats, share in groups)
        assert mean == pytest.approx(math.log(row["test_perplexity"]), abs=1e-9)  # rounding


def test_half_of_the_vocabulary_is_as_rare_as_the_page_says():
    corpus = load_corpus("wikipedia")
    words = WordTokenizer.train(corpus.train, min_count=3)
    counts = Counter(i for text in corpus.train for i in words.encode(text))
    assert statistics.median(counts.values()) == 7
    assert "Half of the vocabulary occurs seven times or fewer" in PAGE


def test_votes_of_single_places_cannot_tell_same_from_other():
    """The exercise's four sentences: no direct connections fit them, a hidden layer does."""
    ids = torch.tensor([[1, 1], [2, 2], [1, 2], [2, 1]])
    targets = torch.tensor([[-100, 3], [-100, 3], [-100, 4], [-100, 4]])
    losses = {}
    for has_hidden in (False, True):
        generator = torch.Generator().manual_seed(0)
        model = FixedWindowLM(5, 2, 3, 6, eos_id=0, has_direct=True, generator=generator)
        if not has_hidden:
            torch.nn.init.zeros_(model.output.weight)
            model.output.weight.requires_grad_(False)
        optimizer = torch.optim.Adam([w for w in model.parameters() if w.requires_grad], lr=0.05)
        for _ in range(300):
            optimizer.zero_grad()
            loss = model(ids, targets)[1]
            loss.backward()
            optimizer.step()
        losses[has_hidden] = loss.item()
    assert losses[False] == pytest.approx(math.log(2), abs=0.01)  # a fair coin is the optimum
    assert losses[True] < 0.05


def definitions(cells: list[str]) -> list[str]:
    """The cells on which the solutions build, without the experiments in them, and one network."""
    needed = ("stories = load_corpus", "def batches_of", "def new_model", "def train(")
    needed += ("def phrases(", "def share_right(", "trained_on = phrases(")
    chosen = [cell for cell in cells if any(name in cell for name in needed)]
    for experiment in ("def gradient_of", "RATES =", "reader = train"):
        chosen = [cell.partition(experiment)[0] for cell in chosen]
    return [*chosen, "networks = {4: train(train_ids, window=4)}"]


@pytest.mark.exhaustive
def test_solutions_print_what_the_page_says():
    lines = printed_by_solutions(PAGE, definitions).splitlines()
    errors = [float(line.split()[1]) for line in lines[:4]]
    assert errors[1] < errors[0] / 100 and errors[1] < errors[3] / 100
    votes, full = (float(line.split()[1]) for line in lines[4:6])
    gap, without_order = map(float, lines[6:8])
    # rounded on the page; training magnifies the rounding of another machine
    assert (votes, full) == pytest.approx((2.03, 2.03), rel=0.02)
    assert gap > 0.95
    assert without_order == pytest.approx(2.12, rel=0.03)


WORDS = ["cat", "cats", "dog", "dogs", "park", "lake", "red", "Mia"]
KINDS = ["animal", "animal", "animal", "animal", "place", "place", "colour", "hero"]


def vectors() -> torch.Tensor:
    generator = torch.Generator().manual_seed(4)
    return torch.randn(len(WORDS), 6, generator=generator, dtype=torch.float64).round(decimals=3)


def nearest(terms: dict[str, int]) -> list[str]:
    """Words by torch's own cosine to a sum of vectors, without the words of the sum."""
    C = vectors()
    total = sum(sign * C[WORDS.index(word)] for word, sign in terms.items())
    order = torch.cosine_similarity(C, total[None]).argsort(descending=True)
    return [WORDS[i] for i in order.tolist() if WORDS[i] not in terms][:5]


def embedding_figure(**changes) -> widgets.Widget:
    arguments = {"words": WORDS, "kinds": KINDS, "vectors": vectors(), "text": "cat"} | changes
    return widgets.embedding_map(**arguments, alt="A map of words.")


def test_embedding_table_matches_torch():
    for word, kind, neighbours in embedding_figure().rows:
        assert kind == KINDS[WORDS.index(word)]
        assert neighbours.split(", ") == nearest({word: 1})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"words": ["cat"] * 8}, "words has 8, 1 of them different"),
        ({"kinds": KINDS[:7]}, r"kinds has 7 entries.*8 words"),
        ({"vectors": torch.zeros(7, 6)}, r"shape \(7, 6\)"),
        ({"vectors": torch.zeros(8, 6)}, "vector of 'cat' is zero"),
    ],
)
def test_embedding_map_rejects_what_does_not_fit(changes, message):
    with pytest.raises(ValueError, match=message):
        embedding_figure(**changes)


def page_of(figure: widgets.Widget, browser, tmp_path):
    """The map alone on a page, with the book's scripts and style."""
    assets = ROOT / "book" / "_assets"
    head = f"<title>Map</title><link rel=stylesheet href={(assets / 'coursebook.css').as_uri()}>"
    for name in ("lm-base.js", "lm-embedding-map.js"):
        head += f"<script defer src={(assets / name).as_uri()}></script>"
    file = tmp_path / "map.html"
    file.write_text(
        f"<!doctype html><html lang=en data-theme=light><meta charset=utf-8>{head}"
        f"<main><h1>Map</h1>{figure.to_html()}</main>",
        encoding="utf-8",
    )
    browser.get_log("browser")
    browser.get(file.as_uri())
    return browser


@pytest.fixture
def map_page(browser, tmp_path):
    return page_of(embedding_figure(), browser, tmp_path)


def said(browser) -> str:
    return browser.find_element("css selector", "lm-embedding-map .lm-status").text


def in_words(terms: dict[str, int], formula: str) -> str:
    names = [f"{word} ({KINDS[WORDS.index(word)]})" for word in nearest(terms)]
    return f"Nearest to {formula}: {', '.join(names)}."


@pytest.mark.slow
@pytest.mark.browser
def test_embedding_map_computes_neighbours_from_what_is_typed(map_page):
    assert said(map_page) == in_words({"cat": 1}, "cat")
    field = map_page.find_element("css selector", "lm-embedding-map input")
    assert field.accessible_name.startswith("A word of the map")
    for typed, terms, formula in (
        ("cats - cat + dog", {"cats": 1, "cat": -1, "dog": 1}, "cats − cat + dog"),
        ("MIA", {"Mia": 1}, "Mia"),
    ):
        field.clear()
        field.send_keys(typed)
        assert said(map_page) == in_words(terms, formula)
    for typed, answer in (
        ("unicorn", "“unicorn” is not on the map."),
        ("cat - cat", "This sum is zero: it points nowhere."),
        (" ", "Type a word of the map."),
    ):
        field.clear()
        field.send_keys(typed)
        assert said(map_page) == answer
    assert map_page.get_log("browser") == []


@pytest.mark.slow
@pytest.mark.browser
def test_labels_of_the_map_cover_no_other_where_words_lie_close(browser, tmp_path):
    close = vectors()
    close[2:] = close[2] + 0.02 * close[2:]  # six words of three kinds in one place
    page = page_of(embedding_figure(vectors=close, text=WORDS[2]), browser, tmp_path)
    assert len(page.find_elements("css selector", "lm-embedding-map text")) > 6
    assert covered_labels(page) == []


@pytest.mark.slow
@pytest.mark.browser
def test_embedding_map_takes_the_word_that_is_tapped_and_has_no_axe_violations(map_page):
    circle = map_page.find_elements("css selector", "lm-embedding-map circle")[4]
    circle.click()
    assert said(map_page) == in_words({"park": 1}, "park")
    map_page.execute_script(AXE)
    violations = map_page.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run('lm-embedding-map').then((r) => done(r.violations.map((v) => v.id)));"
    )
    assert violations == []


def test_votes_of_the_page_sum_the_rows_of_their_places():
    """Also those of the recorded benchmark: one model, written twice."""
    names = {"torch": torch, "eos": 0}
    (source,) = (cell for cell in code_cells(PAGE) if cell.startswith("class Votes"))
    exec(source, names)
    ours, theirs = names["Votes"](5, 3), votes.Votes(5, 3, eos_id=0)
    with torch.no_grad():
        ours.tables.normal_()
        for place, table in enumerate(theirs.tables):
            table.weight.copy_(ours.tables[place])
    ids = torch.tensor([[4, 2, 1, 3]])
    expected = ours.tables[0][0] + ours.tables[1][4] + ours.tables[2][2]  # <eos>, 4, 2
    for model in (ours, theirs):
        torch.testing.assert_close(model(ids)[0][0, 1], expected)


@pytest.mark.parametrize(("margins", "share"), [([1.0, -2.0], 0.5), ([0.0], 0.5), ([3.0], 1.0)])
def test_tie_of_two_verbs_is_half_right(margins, share):
    assert votes.share_right(torch.tensor(margins)) == share

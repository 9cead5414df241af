"""Tables and interactive figures: what a cell has computed, in a form to read and to touch.

A view writes a custom element of the book (book/_assets/lm-*.js) that holds its data as JSON,
with the same numbers as a table inside. Where the element's script is missing, as in JupyterLab,
the table is what shows; where there is no HTML, a sentence. Views take arrays and dictionaries.
A plain table that a chapter shows is written by `table`.
"""

import html
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import regex

from course_pkg.plots import Numbers
from course_pkg.text.tokenizers.merges import Pair, merge_pair


@dataclass(frozen=True)
class View:
    """An element of the page with its data, its table and its sentence.

    Args:
        element: name of the custom element, such as "lm-guess-letter".
        data: what its script reads; anything that JSON can hold.
        alt: what the figure shows, in a sentence.
        header, rows: the same as a table.
    """

    element: str
    data: Mapping[str, object]
    alt: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.alt}

    def to_html(self) -> str:
        """Return the element; `</` is escaped, since it would end the script around the JSON."""
        payload = json.dumps(self.data, ensure_ascii=False, separators=(",", ":"))
        return (
            f'<{self.element} role="group" aria-label="{html.escape(self.alt)}">'
            f'<script type="application/json">{payload.replace("</", "<" + chr(92) + "/")}</script>'
            f"<details><summary>The same as a table</summary><p>{html.escape(self.alt)}</p>"
            f'<div class="lm-table" tabindex="0" role="region" aria-label="Table">'
            f"{_table_html(self.header, self.rows)}</div></details></{self.element}>"
        )


class Markup(str):
    """Text that is HTML already; a table shows it as it is."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """Rows under a header, as a table of the page; see `table`."""

    header: Sequence[str]
    rows: Sequence[Sequence[object]]

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.to_text()}

    def to_html(self) -> str:
        """Return the table in a region that scrolls where the page is too narrow for it."""
        return (
            '<div class="lm-table lm-whole" tabindex="0" role="region" '
            f'aria-label="{html.escape(", ".join(self.header))}">'
            f"{_table_html(self.header, self.rows)}</div>"
        )

    def to_text(self) -> str:
        """Return one line a row, cells between bars."""
        return "\n".join(" | ".join(map(str, row)) for row in (self.header, *self.rows))


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    """Show rows as a table of the page.

    Args:
        rows: cells are written as text, whatever they contain, unless they are `Markup`.

    Raises:
        ValueError: a row has more or fewer cells than the header.

    Example:
        >>> print(table(("n", "text"), [(1, "a < b")]).to_text())
        n | text
        1 | a < b
    """
    rows = [tuple(row) for row in rows]
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"row {row} has {len(row)} cells; the header has {len(header)}")
    return Table(tuple(header), rows)


def _table_html(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    body = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{_cells('th', header)}</tr></thead><tbody>{body}</tbody></table>"


def _cells(tag: str, cells: Iterable[object]) -> str:
    scope = ' scope="col"' if tag == "th" else ""
    texts = (cell if isinstance(cell, Markup) else html.escape(str(cell)) for cell in cells)
    return "".join(f"<{tag}{scope}>{text}</{tag}>" for text in texts)


def visible(symbol: str) -> str:
    """Return a symbol that can be seen: a space as ␣, a line break as ⏎."""
    return symbol.replace(" ", "␣").replace("\n", "⏎")


def guess_letter(
    text: str, probabilities: Numbers, alphabet: Sequence[str], *, n_shown: int, alt: str
) -> View:
    """Let the reader play Shannon's guessing game (Shannon 1951) against a model.

    The reader guesses the text letter by letter. After each, the model's probability for it is
    shown, and the numbers of guesses bound the entropy that the reader finds in the text.

    Args:
        probabilities: one row per letter of `text`: what the model gave to each symbol of
            `alphabet` after the letters before it.
        n_shown: letters that are given; they show the model's surprise in the resting state.

    Raises:
        ValueError: the shapes do not fit, a row does not sum to one, a letter of the text is not
            in the alphabet, or nothing is left to guess.
    """
    table = np.asarray(probabilities, dtype=float)
    if table.shape != (len(text), len(alphabet)):
        raise ValueError(
            f"probabilities has shape {table.shape}; "
            f"{len(text)} letters over {len(alphabet)} symbols need {(len(text), len(alphabet))}"
        )
    if not np.allclose(table.sum(axis=1), 1.0, atol=1e-4):  # float32 over a few hundred symbols
        worst = float(table.sum(axis=1)[np.abs(table.sum(axis=1) - 1).argmax()])
        raise ValueError(f"a row of probabilities sums to {worst}; each must sum to 1")
    strange = sorted(set(text) - set(alphabet))
    if strange:
        raise ValueError(f"text contains {strange}; every letter must be in the alphabet")
    if not 0 < n_shown < len(text):
        raise ValueError(f"n_shown is {n_shown}; it must lie between 1 and {len(text) - 1}")
    targets = np.array([list(alphabet).index(letter) for letter in text])
    of_target = table[np.arange(len(text)), targets]
    ranks = 1 + (table > of_target[:, None]).sum(axis=1)
    with np.errstate(divide="ignore"):
        bits = -np.log2(of_target)
    best = [alphabet[i] for i in table.argmax(axis=1)]
    return View(
        "lm-guess-letter",
        {
            "text": text,
            "alphabet": list(alphabet),
            "shown": n_shown,
            "probability": np.round(of_target, 5).tolist(),
            "rank": ranks.tolist(),
            "best": best,
        },
        alt,
        ("letter", "model's probability", "surprise in bits", "model's rank", "its first guess"),
        [
            (visible(letter), f"{p:.3f}", f"{b:.2f}", str(rank), visible(guess))
            for letter, p, b, rank, guess in zip(text, of_target, bits, ranks, best, strict=True)
        ],
    )


@dataclass(frozen=True)
class Walk:
    """Text drawn from a model, with the distribution from which each token was drawn."""

    method: str
    order: int
    tokens: Sequence[str]
    candidates: Sequence[Sequence[tuple[str, float]]]


def draw_walk(
    next_probabilities: Callable[[list[int]], Numbers],
    tokens: Sequence[str],
    *,
    method: str,
    order: int,
    start: int,
    n_tokens: int,
    rng: np.random.Generator,
    n_candidates: int = 6,
) -> Walk:
    """Sample from a model and keep the likeliest candidates of each step.

    Args:
        next_probabilities: maps the ids so far to the probability of each token.
        tokens: what each id stands for.
        method: name of the smoothing, as the reader chooses it.
        start: id that begins a text and, drawn again, ends it.
    """
    ids: list[int] = [start]
    drawn: list[str] = []
    steps: list[list[tuple[str, float]]] = []
    while len(drawn) < n_tokens:
        p = np.asarray(next_probabilities(ids), dtype=float)
        chosen = int(rng.choice(len(p), p=p / p.sum()))
        likeliest = np.argsort(-p, kind="stable")[:n_candidates].tolist()
        if chosen not in likeliest:
            likeliest[-1] = chosen  # the reader must find the drawn token among the bars
        steps.append([(tokens[i], round(float(p[i]), 5)) for i in likeliest if p[i] > 0])
        drawn.append(tokens[chosen])
        ids.append(chosen)
        if chosen == start:
            break
    return Walk(method, order, drawn, steps)


def ngram_sampler(walks: Sequence[Walk], *, alt: str, joiner: str = " ") -> View:
    """Let the reader choose order and smoothing, sample, and see each token's distribution.

    The samples are drawn when the chapter runs, several for each choice; pressing the button
    shows the next one.

    Args:
        joiner: what stands between two tokens: a space for words, nothing for letters.

    Raises:
        ValueError: there are no walks, or some combination of order and method has none.
    """
    if not walks:
        raise ValueError("walks is empty; draw at least one for each order and method")
    orders = sorted({walk.order for walk in walks})
    methods = list(dict.fromkeys(walk.method for walk in walks))
    have = {(walk.order, walk.method) for walk in walks}
    missing = [(o, m) for o in orders for m in methods if (o, m) not in have]
    if missing:
        raise ValueError(f"there is no walk for {missing}; draw one for each order and method")
    return View(
        "lm-ngram-sampler",
        {
            "orders": orders,
            "methods": methods,
            "joiner": joiner,
            "walks": [
                {
                    "order": walk.order,
                    "method": walk.method,
                    "tokens": list(walk.tokens),
                    "candidates": [[list(pair) for pair in step] for step in walk.candidates],
                }
                for walk in walks
            ],
        },
        alt,
        ("order", "smoothing", "sample"),
        [(str(walk.order), walk.method, joiner.join(walk.tokens)) for walk in walks],
    )


def bpe_stepper(
    text: str, merges: Sequence[Pair], *, pattern: str, n_merged: int, alt: str
) -> View:
    """Let the reader encode a line by byte-pair encoding, one merge at a time, or learn from it.

    A step applies the earliest-learned merge that fits anywhere to all places where it fits.

    Args:
        text: the line in the resting state.
        merges: learned pairs, the first learned first.
        pattern: where the line is cut before it is merged; JavaScript must know it too.
        n_merged: steps already done in the resting state.

    Raises:
        ValueError: a merge uses what no earlier one makes, or `n_merged` exceeds the steps.
    """
    tokens = [bytes([b]) for b in range(256)]
    ids = {token: i for i, token in enumerate(tokens)}
    ranks: dict[tuple[int, int], int] = {}
    for rank, (first, second) in enumerate(merges):
        if first not in ids or second not in ids:
            raise ValueError(f"merge {(first, second)!r} uses what no earlier merge makes")
        ranks[ids[first], ids[second]] = rank
        if first + second not in ids:
            ids[first + second] = len(tokens)
            tokens.append(first + second)
    words = [list(match.group().encode()) for match in regex.finditer(pattern, text)]
    steps = [("", words)]
    while known := [pair for word in words for pair in pairwise(word) if pair in ranks]:
        pair = min(known, key=ranks.__getitem__)
        made = tokens[pair[0]] + tokens[pair[1]]
        words = [merge_pair(word, pair, ids[made]) for word in words]
        steps.append((" + ".join(_seen(tokens[i]) for i in pair), words))
    if not 0 <= n_merged < len(steps):
        raise ValueError(f"n_merged is {n_merged}; this line has {len(steps) - 1} merges")
    return View(
        "lm-bpe-stepper",
        {"text": text, "merges": list(ranks), "pattern": pattern, "merged": n_merged},
        alt,
        ("step", "merged", "tokens"),
        [
            (str(n), merged, " | ".join(_seen(tokens[i]) for word in words for i in word))
            for n, (merged, words) in enumerate(steps)
        ],
    )


def _seen(token: bytes) -> str:
    return visible(token.decode("utf-8", errors="backslashreplace"))


@dataclass(frozen=True)
class Alignment:
    """A text and its translation, which words belong together, and where models look.

    Args:
        source: words of the text.
        target: words of its translation.
        links: (source position, target position) of words that translate one another.
        weights: name of a model -> its attention, one row per target word, each summing to one.
    """

    source: Sequence[str]
    target: Sequence[str]
    links: Collection[tuple[int, int]]
    weights: Mapping[str, Numbers]

    def gold(self) -> list[list[int]]:
        """Return the source positions that each target word translates."""
        return [sorted(s for s, t in self.links if t == place) for place in range(len(self.target))]


def alignment_explorer(alignments: Sequence[Alignment], *, selected: int, alt: str) -> View:
    """Let the reader point at a word of a translation and see what it attends to.

    Args:
        selected: target word of the first text that is chosen in the resting state; the model in
            the resting state is the last one named.

    Raises:
        ValueError: there is nothing to show, the texts are not all attended to by the same models,
            weights do not fit their words or do not sum to one, or `selected` is no target word.
    """
    if not alignments or not alignments[0].weights:
        raise ValueError("alignments is empty; give at least one text with one model's weights")
    if not 0 <= selected < len(alignments[0].target):
        last = len(alignments[0].target) - 1
        raise ValueError(f"selected is {selected}; it must lie between 0 and {last}")
    models = list(alignments[0].weights)
    texts, rows = [], []
    for number, text in enumerate(alignments, 1):
        if list(text.weights) != models:
            raise ValueError(f"text {number} has the models {list(text.weights)}, not {models}")
        gold = text.gold()
        tables = {name: _attention(text, name) for name in models}
        texts.append(
            {"source": list(text.source), "target": list(text.target), "gold": gold}
            | {"weights": {name: np.round(table, 3).tolist() for name, table in tables.items()}}
        )
        for name, table in tables.items():
            for word, row, places in zip(text.target, table, gold, strict=True):
                best = int(row.argmax())
                truth = " + ".join(text.source[s] for s in places)
                rows.append((str(number), name, word, text.source[best], f"{row[best]:.2f}", truth))
    return View(
        "lm-alignment",
        {"models": models, "model": models[-1], "texts": texts, "selected": selected},
        alt,
        ("text", "attention", "word", "looks most at", "weight", "translates"),
        rows,
    )


def _attention(text: Alignment, model: str) -> np.ndarray:
    """Return a model's weights on a text as an array, if they are weights on this text."""
    table = np.asarray(text.weights[model], dtype=float)
    expected = (len(text.target), len(text.source))
    if table.shape != expected:
        raise ValueError(f"weights of {model!r} have shape {table.shape}; the words: {expected}")
    sums = table.sum(axis=1)
    if not np.allclose(sums, 1.0, atol=1e-4):  # float32 over a few dozen words
        raise ValueError(f"a row of {model!r} sums to {sums[abs(sums - 1).argmax()]}, not to 1")
    return table


def gradient_through_time(
    weight: Numbers,
    projected: Numbers,
    gradient: Numbers,
    *,
    radii: Sequence[float] = (0.8, 1.0, 1.2),
    alt: str,
) -> View:
    """Let the reader turn a recurrent matrix's spectral radius and see how long gradients stay.

    The page runs the cell forwards and its gradient backwards, h_t = f(a_t + r U h_{t-1}), with r
    from a slider and f the identity or tanh; or multiplies by an LSTM's forget gate at each step.

    Args:
        weight: U, R x R, of spectral radius 1.
        projected: a_t, T x R: the inputs after their own weights.
        gradient: of the loss with respect to the last state, R numbers.
        radii: what the table shows.

    Raises:
        ValueError: shapes that do not fit, or a spectral radius other than 1.
    """
    matrix, inputs, last = (np.asarray(x, dtype=float) for x in (weight, projected, gradient))
    width = len(last)
    if matrix.shape != (width, width) or inputs.shape[1:] != (width,):
        raise ValueError(
            f"weight has shape {matrix.shape} and projected {inputs.shape}; "
            f"a gradient of {width} numbers needs {(width, width)} and (T, {width})"
        )
    radius = float(np.abs(np.linalg.eigvals(matrix)).max())
    if abs(radius - 1) > 1e-6:
        raise ValueError(f"weight has the spectral radius {radius}; it must be 1")
    columns = [
        (name, r, _gradient_norms(r * matrix, inputs, last, squash))
        for name, squash in (("linear", False), ("tanh", True))
        for r in radii
    ]
    return View(
        "lm-gradient",
        {"weight": matrix.tolist(), "projected": inputs.tolist(), "gradient": last.tolist()},
        alt,
        ("steps back", *(f"{name}, radius {r:g}" for name, r, _ in columns)),
        [(str(k), *(f"{norms[k]:.2g}" for *_, norms in columns)) for k in range(0, len(inputs), 5)],
    )


def _gradient_norms(
    weight: np.ndarray, projected: np.ndarray, gradient: np.ndarray, squash: bool
) -> list[float]:
    """Return the gradient's length at the last state, one step before it, and so on."""
    hidden, slopes = np.zeros(len(gradient)), []
    for inputs in projected:
        hidden = weight @ hidden + inputs
        if squash:
            hidden = np.tanh(hidden)
        slopes.append(1 - hidden**2 if squash else np.ones_like(hidden))
    norms = [float(np.linalg.norm(gradient))]
    for slope in slopes[:0:-1]:
        gradient = (gradient * slope) @ weight
        norms.append(float(np.linalg.norm(gradient)))
    return norms

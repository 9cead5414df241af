"""Real text of known entropy: the last names of a country, drawn as often as people bear them.

    python -m benchmarks.chapters.surnames [--n-train 50000] [--record FILE]

The census of 1990 tells which share of the people of the USA bears each last name, to a thousandth
of a percent; names rarer than that are listed without a share and left out here. A name drawn by
these shares is a real text whose entropy is a sum, not an estimate: no model can need fewer nats.
Counts of letters see a sample, learn its common names by heart as their window grows, and pay on
the rare ones.
"""

import math
from collections.abc import Mapping, Sequence

import torch

from benchmarks.papers.published import Figure, command_line, or_exit, report
from course_pkg.evaluation.likelihood import token_log_probs
from course_pkg.models.ngram import NGram
from course_pkg.text.corpora import name_frequencies
from course_pkg.text.tokenizers import CharTokenizer

ORDERS = (1, 2, 3, 4, 5, 6, 8)


def entropy(shares: Mapping[str, float]) -> float:
    """Return the nats of one draw: the mean of -log p."""
    total = sum(shares.values())
    return -sum(s / total * math.log(s / total) for s in shares.values())


def draw(shares: Mapping[str, float], n: int, seed: int) -> list[str]:
    """Draw names as often as people bear them."""
    names, weights = list(shares), torch.tensor(list(shares.values()), dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    places = torch.multinomial(weights, n, replacement=True, generator=generator)
    return [names[place] for place in places.tolist()]


def nats_per_name(shares: Mapping[str, float], train: Sequence[str], order: int) -> float:
    """Return what a Kneser-Ney model of letters needs for a name, on average over all people.

    No test sample is drawn: every name is scored once and counts by its share.
    """
    tokenizer = CharTokenizer.train(list(shares))
    model = NGram.fit(
        [tokenizer.encode(name) for name in train], order, tokenizer.vocab_size, tokenizer.eos_id
    )
    names = list(shares)
    rows = token_log_probs(
        model, [tokenizer.encode(name) for name in names], eos_id=tokenizer.eos_id, batch_size=512
    )
    total = sum(shares.values())
    pairs = zip(names, rows, strict=True)
    return -sum(shares[name] / total * float(row.sum()) for name, row in pairs)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the nats of each window beside the entropy and, on request, record them."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n-train", type=int, default=50_000, help="names to count [50,000]")
    options = parser.parse_args(arguments)
    with or_exit():
        shares = {name: share for name, share in name_frequencies().items() if share > 0}
    floor = entropy(shares)
    train = draw(shares, options.n_train, seed=1)
    figures = [
        Figure(f"{order}-gram of letters", nats_per_name(shares, train, order)) for order in ORDERS
    ]
    figures.append(Figure("entropy: no model can need less", floor))
    report(
        figures,
        "Nats per name, averaged over the people of the USA in 1990 who bear a name with a share.",
        is_higher_better=False,
        module="benchmarks.chapters.surnames",
        options=options,
        arguments=arguments,
        details={"entropy": floor, "n_names": len(shares), "n_train": options.n_train},
    )


if __name__ == "__main__":
    main()

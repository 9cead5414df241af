"""How many labels does a task need? Pretrained against new weights, and naive Bayes as the floor.

    COURSE_DATA=DIR python -m benchmarks.chapters.label_curve [--record FILE]

TREC's questions (Li and Roth 2002): which of six kinds of answer does a question ask for? From 25
to 1,600 labels, of which each seed draws its own. The validation questions choose every setting,
the 500 test questions report:
  naive Bayes       words, or words and pairs of neighbours; its smoothing
  frozen            a new layer on vectors of the text, fitted to its optimum; its penalty. For
                    bert-small and gpt-small, each with two ways to pool
  scratch, LoRA, full   bert-small, [CLS]: new weights; rank 8 on queries and values; everything.
                    Also gpt-small's last token at 400 labels.
Each has its own learning rate for each number of labels, found with the first seed by moving
outwards from the one before until none on either side is better. All three make as many updates. A
record that was begun with the same epochs and weights is gone on with. DIR must have trec/.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.backbones import Pretrained, Reading, fine_tune, predict, vectors
from benchmarks.records import Recording, command_line
from benchmarks.weights.pretrained_rows import digest
from course_pkg.evaluation.metrics import accuracy
from course_pkg.models.adaptation import TextClassifier, add_lora
from course_pkg.models.transformer import count_parameters
from course_pkg.text.corpora.labelled_data import Labelled, load_task

N_EPOCHS = {25: 30, 100: 15, 400: 6, 1600: 2}
SEEDS = (0, 1, 2)
RATES = tuple(10 ** (k / 2) for k in range(-10, 0))  # 1e-5, 3.2e-5, ... 0.3
FIRST_RATE = {"scratch": 6, "LoRA": 5, "full": 4}  # places in RATES
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
POOLINGS = ("summary", "mean")
SMOOTHING = (0.03, 0.1, 0.3, 1.0)
N_VALID = 300
ARMS = (
    "naive Bayes",
    *(f"frozen, {name}, {way}" for name in ("bert-small", "gpt-small") for way in POOLINGS),
    *(f"{method}, bert-small" for method in FIRST_RATE),
    "full, gpt-small",
)


class FewLabels:
    """A task: what each seed learns from, what chooses, what is reported on.

    Args:
        name: as `load_task` knows it.
        n_valid: how many of its validation texts choose.
        n_epochs: of training step by step, by number of labels.
    """

    def __init__(
        self, name: str = "trec", n_valid: int = N_VALID, n_epochs: Mapping[int, int] = N_EPOCHS
    ) -> None:
        task = load_task(name, source="local")
        self.labels, self.n_epochs = task.labels, n_epochs
        self.train, self.valid, self.test = task.train, task.valid[:n_valid], task.test

    def places(self, n_labels: int, seed: int) -> list[int]:
        """Return where a seed's examples stand; those of fewer labels are among those of more."""
        order = torch.randperm(len(self.train), generator=torch.Generator().manual_seed(seed))
        return order[:n_labels].tolist()

    def drawn(self, n_labels: int, seed: int) -> list[Labelled]:
        """Return a seed's examples."""
        return [self.train[place] for place in self.places(n_labels, seed)]

    def targets(self, records: Sequence[Labelled]) -> list[int]:
        """Return the classes' numbers."""
        return [self.labels.index(record.label or "") for record in records]

    def read(self, model: Pretrained, records: Sequence[Labelled]) -> list[Reading]:
        """Lay texts out as the model knows them."""
        targets = self.targets(records)
        return [Reading(model.read(r.text), t) for r, t in zip(records, targets, strict=True)]


def terms_of(text: str, longest: int) -> list[str]:
    """Return a text's words and, for longest 2, its pairs of neighbours."""
    words = text.lower().split()
    pairs = [" ".join(pair) for pair in pairwise(words)]
    return words + (pairs if longest == 2 else [])


def naive_bayes(
    task: FewLabels, train: Sequence[Labelled], test: Sequence[Labelled], longest: int, k: float
) -> float:
    """Return the accuracy of naive Bayes with k added to every count, in percent."""
    counts = [Counter[str]() for _ in task.labels]
    prior = Counter(task.targets(train))
    for record, target in zip(train, task.targets(train), strict=True):
        counts[target].update(terms_of(record.text, longest))
    known = set().union(*counts)
    totals = [sum(of_class.values()) + k * len(known) for of_class in counts]

    def score(terms: Sequence[str], c: int) -> float:
        found = sum(math.log((counts[c][term] + k) / totals[c]) for term in terms)
        return math.log(prior[c] + k) + found

    guesses = []
    for record in test:
        terms = [term for term in terms_of(record.text, longest) if term in known]
        guesses.append(max(range(len(task.labels)), key=lambda c: score(terms, c)))
    return 100 * accuracy(guesses, task.targets(test))


def fit_head(inputs: Tensor, targets: Tensor, n_classes: int, penalty: float) -> nn.Linear:
    """Fit a linear layer to its optimum: a convex problem, solved by L-BFGS."""
    head = nn.Linear(inputs.shape[1], n_classes)
    nn.init.zeros_(head.weight)
    nn.init.zeros_(head.bias)
    optimizer = torch.optim.LBFGS(
        head.parameters(), max_iter=100, line_search_fn="strong_wolfe", tolerance_change=1e-7
    )

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = nn.functional.cross_entropy(head(inputs), targets)
        value = value + penalty * head.weight.square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    return head


def frozen_accuracy(
    inputs: Tensor,
    targets: Tensor,
    asked: Tensor,
    expected: Tensor,
    n_classes: int,
    penalty: float,
) -> float:
    """Fit a head to standardised vectors; return its accuracy on others, in percent."""
    middle, spread = inputs.mean(dim=0), inputs.std(dim=0) + 1e-3
    head = fit_head((inputs - middle) / spread, targets, n_classes, penalty)
    with torch.no_grad():
        guesses = head((asked - middle) / spread).argmax(dim=-1)
    return 100 * accuracy(guesses, expected)


def chosen(
    settings: Sequence[Any], run: Callable[[Any, int, str], float]
) -> tuple[Any, list[float]]:
    """Choose a setting on validation questions, all seeds together; return it and test figures."""
    best = max(settings, key=lambda setting: sum(run(setting, seed, "valid") for seed in SEEDS))
    return best, [run(best, seed, "test") for seed in SEEDS]


def floor(task: FewLabels, n_labels: int) -> dict[str, Any]:
    """Measure naive Bayes."""
    splits = {"valid": task.valid, "test": task.test}
    setting, found = chosen(
        [(longest, k) for longest in (1, 2) for k in SMOOTHING],
        lambda s, seed, part: naive_bayes(task, task.drawn(n_labels, seed), splits[part], *s),
    )
    return {"setting": {"longest": setting[0], "k": setting[1]}, "test_accuracy": found}


def frozen(
    task: FewLabels,
    model: Pretrained,
    pooling: str,
    sizes: Collection[int] = tuple(N_EPOCHS),
    *,
    penalties: Sequence[float] = PENALTIES,
    is_pretrained: bool = True,
) -> dict[int, dict[str, Any]]:
    """Measure a new layer on frozen vectors, for every number of labels: they are computed once."""
    classifier = TextClassifier(
        model.copy(is_pretrained=is_pretrained), len(task.labels), is_frozen=True, pooling=pooling
    ).eval()

    def of(records: Sequence[Labelled]) -> tuple[Tensor, Tensor]:
        return vectors(classifier, task.read(model, records)), torch.tensor(task.targets(records))

    known, classes = of(task.train)
    asked = {"valid": of(task.valid), "test": of(task.test)}
    results = {}
    for n_labels in sizes:

        def run(penalty: float, seed: int, part: str, n_labels: int = n_labels) -> float:
            places = task.places(n_labels, seed)
            return frozen_accuracy(
                known[places], classes[places], *asked[part], len(task.labels), penalty
            )

        penalty, found = chosen(penalties, run)
        results[n_labels] = {"setting": {"penalty": penalty}, "test_accuracy": found}
    return results


def trained(
    task: FewLabels,
    model: Pretrained,
    method: str,
    n_labels: int,
    start: int,
    pooling: str = "summary",
) -> dict[str, Any]:
    """Measure what is trained step by step; seed 0 finds the rate."""

    def classifier(lr: float, seed: int) -> TextClassifier:
        generator = torch.Generator().manual_seed(seed)
        backbone = model.copy(is_pretrained=method != "scratch", seed=seed)
        if method == "LoRA":
            add_lora(backbone, rank=8, generator=generator)
        made = TextClassifier(backbone, len(task.labels), pooling=pooling, generator=generator)
        readings = task.read(model, task.drawn(n_labels, seed))
        fine_tune(made, readings, n_epochs=task.n_epochs[n_labels], lr=lr, seed=seed, batch_size=16)
        return made

    def score(made: TextClassifier, records: Sequence[Labelled]) -> float:
        return 100 * accuracy(predict(made, task.read(model, records)), task.targets(records))

    tried: dict[int, float] = {}
    first: dict[int, float] = {}
    place = start
    while True:
        for near in (place, place - 1, place + 1):
            if near not in tried:
                made = classifier(RATES[near], 0)
                tried[near], first[near] = score(made, task.valid), score(made, task.test)
        best = max(tried, key=lambda near: (tried[near], -abs(near - start)))
        if best == place:
            break
        place = best
    found = [first[place]]
    for seed in SEEDS[1:]:
        made = classifier(RATES[place], seed)
        found.append(score(made, task.test))
    n_trained = sum(p.numel() for p in made.parameters() if p.requires_grad)
    return {
        "setting": {"lr": RATES[place]},
        "valid_accuracy_by_rate": {f"{RATES[near]:.1g}": tried[near] for near in sorted(tried)},
        "test_accuracy": found,
        "n_trained": n_trained,
        "n_parameters": count_parameters(made),
    }


class LabelRecording(Recording):
    """Results by arm and number of labels, written as each comes in; a begun one is gone on with.

    Args:
        arguments: the command line.
        about: the benchmark's docstring, for its help.
        benchmark: its `__file__`.
        what: the quantity.
        n_epochs: as in `FewLabels`.
        weights: what tells each model's weights from others. A record that was begun with other
            weights or epochs ends the program.
        arms: those that `--only` may name; none, and there is no such option.
    """

    def __init__(
        self,
        arguments: Sequence[str] | None,
        about: str | None,
        benchmark: str,
        *,
        what: str,
        n_epochs: Mapping[int, int],
        weights: Mapping[str, str],
        seeds: Sequence[int] = SEEDS,
        arms: Iterable[str] = (),
    ) -> None:
        super().__init__(command_line(about, benchmark, arms=arms), arguments)
        self.begin(
            {"what": what},
            same={"seeds": seeds, "n_epochs": dict(n_epochs), "weights_sha256": dict(weights)},
        )

    def of(self, arm: str) -> dict[str, Any]:
        """Return what is recorded of an arm, by number of labels."""
        results: dict[str, Any] = self.content.get("arms", {}).get(arm, {})
        return results

    def lacks(self, arm: str, n_labels: int) -> bool:
        """Return whether an arm is still to be measured with so many labels."""
        return self.is_wanted(arm) and str(n_labels) not in self.of(arm)

    def add(self, arm: str, n_labels: int, result: dict[str, Any]) -> None:
        """Add a result, and write the record."""
        self.content.setdefault("arms", {}).setdefault(arm, {})[str(n_labels)] = result
        print(arm, n_labels, result, flush=True)
        self.save()

    def search(
        self,
        task: FewLabels,
        model: Pretrained,
        method: str,
        n_labels: int,
        start: int,
        pooling: str = "summary",
    ) -> None:
        """Measure and keep what is trained, from the rate that was best for fewer labels."""
        arm = f"{method}, {model.name}"
        if self.lacks(arm, n_labels):
            rates = [result["setting"]["lr"] for result in self.of(arm).values()]
            start = RATES.index(rates[-1]) if rates else start
            self.add(arm, n_labels, trained(task, model, method, n_labels, start, pooling))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = LabelRecording(
        arguments,
        __doc__,
        __file__,
        what="percent of TREC's 500 test questions classified rightly, by seed",
        n_epochs=N_EPOCHS,
        weights={name: digest(name) for name in ("bert-small", "gpt-small")},
        arms=ARMS,
    )
    task = FewLabels()
    models = {name: Pretrained(name) for name in ("bert-small", "gpt-small")}
    for n_labels in N_EPOCHS:
        if recording.lacks("naive Bayes", n_labels):
            recording.add("naive Bayes", n_labels, floor(task, n_labels))
    for name, model in models.items():
        for pooling in POOLINGS:
            arm = f"frozen, {name}, {pooling}"
            if any(recording.lacks(arm, n_labels) for n_labels in N_EPOCHS):
                for n_labels, result in frozen(task, model, pooling).items():
                    recording.add(arm, n_labels, result)
    for n_labels in N_EPOCHS:
        for method, start in FIRST_RATE.items():
            recording.search(task, models["bert-small"], method, n_labels, start)
    recording.search(task, models["gpt-small"], "full", 400, FIRST_RATE["full"])


if __name__ == "__main__":
    main()

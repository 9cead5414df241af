r"""How many labels does a published model need? SmolLM2 and MiniLM on film reviews.

    COURSE_DATA=DIR python -m benchmarks.chapters.published_labels [--record FILE] [--only ARM]

SmolLM2-135M-Instruct in our own `GPT` (`make published` brings it) reads
"Review: ...\nSentiment:", and the scores of " positive" and " negative" as the next token are its
opinion. The sentences of SST-2 (Socher et al. 2013), and a hundred of our own (`our_films`), which
no model can have read. By number of labels, of which each of five seeds draws its own, those of
`benchmarks.chapters.film_pretraining`:
  two words          their scores as they are; no label
  two words, median  the threshold is the median of the training sentences, unlabelled
  head               a new layer on layer 24's last position, or on the last layer's
  head from words    the last layer's, begun and held by a penalty at the two words' rows
  LoRA               rank 8, alpha 16, on all linear layers, below the two words' rows
  LoRA, new weights  the same on the structure with new weights: a control
  MiniLM             the mean of its tokens: everything trained, or LoRA of the same rank
  naive Bayes        on words, its smoothing
  largest class      always the commonest label of the training texts
Of what is fitted by a penalty or has a rate to find, 200 validation sentences choose it. LoRA has
settings set beforehand, and searches nothing. All are asked about the same 400 test sentences,
drawn; MiniLM about all 1,821, too.

Then, without labels, by heads, and by LoRA with 100 labels: TREC's questions (Li and Roth 2002);
pairs of RTE, of SICK (Marelli et al. 2014) and of WiC (Pilehvar and Camacho-Collados 2019), of RTE
also with all labels and three seeds. RTE's test labels are hidden, so its development pairs report.
Matrices are in bfloat16. Every result is written when it comes in, and a begun record is gone on
with; adapters and vectors are kept in runs/published-labels/. DIR must have sst2/, trec/, rte/,
sick/ and wic/.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.backbones import Pretrained, Reading, collate, fine_tune, predict
from benchmarks.chapters.label_curve import (
    SMOOTHING,
    FewLabels,
    LabelRecording,
    fit_head,
    naive_bayes,
)
from course_pkg.evaluation.metrics import accuracy
from course_pkg.models.adaptation import LoRALinear, TextClassifier, add_lora
from course_pkg.models.gpt import GPT
from course_pkg.text.corpora.labelled_data import Labelled, load_task
from course_pkg.text.corpora.sources import local_folder, read_local
from course_pkg.weights.pretrained import SHA256
from course_pkg.weights.published import PUBLISHED, load_published

RUN = Path("runs/published-labels")
SEEDS = tuple(range(5))
N_LABELS = (20, 100, 500)
N_EPOCHS = {20: 15, 100: 8, 500: 3, 6920: 1}
"""Of LoRA, set beforehand; all else follows from them."""
RTE_EPOCHS = 1
"""For all of RTE's pairs, as for all film sentences."""
MINILM_EPOCHS = {20: 20, 100: 12, 500: 8, 6920: 2}
MINILM_RATES = (1e-4, 3e-4)
MINILM_LORA_RATES = (1e-3, 3e-3)
"""The larger is nearly that of `benchmarks.chapters.backbones`."""
LORA = ("query", "key", "value", "output", "expand", "gate", "contract")
MINILM_LORA = tuple(name for name in LORA if name != "gate")
"""BERT's feed-forward layers have no gate."""
LR, N_VALID, N_DRAWN = 3e-4, 200, 400
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
LAYER = 24
"""Whose last position the head reads, set beforehand; 30 is the last."""
UNTAUGHT = ("two words", "two words, median")
HEADS = ("head", "head, last layer", "head from words")
ASKED = ("test", "drawn", "own")
"""All test sentences, `N_DRAWN` of them, and our own."""
AT_ONCE = 120
"""Texts whose vectors are kept together."""
READ_AT_ONCE = 1200
"""Tokens, padding included: what fits a processor's cache reads fastest."""


def film_prompt(record: Labelled) -> str:
    """Put a sentence before the question of its sentiment."""
    return f"Review: {record.text}\nSentiment:"


def question_prompt(record: Labelled) -> str:
    """Put a question before that for the kind of its answer."""
    return f"Question: {record.text}\nThe answer to this question is a kind of"


def sense_prompt(record: Labelled) -> str:
    """Put two sentences before the question whether a word means the same in both."""
    return f'{record.text}\nDoes "{record.second}" mean the same in both? Yes or No?\nAnswer:'


def three_way_prompt(record: Labelled) -> str:
    """Put two texts before the question whether one follows from, or contradicts, the other."""
    return f"{record.text}.\nQuestion: {record.second}. True, False, or Neither?\nAnswer:"


def pair_prompt(record: Labelled) -> str:
    """Put two texts before the question whether one follows from the other."""
    return f"{record.text}\nQuestion: {record.second} True or False?\nAnswer:"


PROMPTS: dict[str, tuple[Callable[[Labelled], str], dict[str, str]]] = {
    "sst2_sentences": (film_prompt, {"negative": " negative", "positive": " positive"}),
    "trec": (
        question_prompt,
        {
            "ABBR": " abbreviation",
            "DESC": " description",
            "ENTY": " thing",
            "HUM": " person",
            "LOC": " place",
            "NUM": " number",
        },
    ),
    "rte": (pair_prompt, {"entailment": " True", "not_entailment": " False"}),
    "sick": (
        three_way_prompt,
        {"CONTRADICTION": " False", "ENTAILMENT": " True", "NEUTRAL": " Neither"},
    ),
    "wic": (sense_prompt, {"F": " No", "T": " Yes"}),
}
"""How a task is asked, and what word stands for each label."""

ARMS = (
    *(f"{name}: {arm}" for name in PROMPTS for arm in (*UNTAUGHT, *HEADS, "LoRA", "largest class")),
    *(f"sst2_sentences: {arm}" for arm in ("LoRA, new weights", "naive Bayes")),
    *(f"sst2_sentences: MiniLM, {arm}" for arm in ("full", "LoRA")),
)


def sick_pairs() -> dict[str, list[Labelled]]:
    """Return SICK's pairs, by part, with what one sentence says of the other.

    The file does not name SemEval's parts, so ours are drawn, of their sizes.
    """
    header, *rows = read_local(local_folder(None), "sick/SICK.txt").splitlines()
    columns = ("sentence_A", "entailment_judgment", "sentence_B")
    places = [header.split("\t").index(name) for name in columns]
    pairs = [Labelled(*(row.split("\t")[place] for place in places)) for row in rows]
    order = torch.randperm(len(pairs), generator=torch.Generator().manual_seed(0)).tolist()
    drawn = [pairs[place] for place in order]
    return {"train": drawn[:4500], "valid": drawn[4500:5000], "test": drawn[5000:]}


def word_pairs() -> dict[str, list[Labelled]]:
    """Return WiC's pairs of sentences, by part; `second` is the word that both have."""
    parts = {}
    for name, path in (("train", "train"), ("valid", "dev"), ("test", "test")):
        rows, labels = (
            read_local(local_folder(None), f"wic/{path}.{kind}.txt").splitlines()
            for kind in ("data", "gold")
        )
        parts[name] = [
            Labelled(f"{first}\n{second}", label.strip(), word)
            for (word, _, _, first, second), label in zip(
                (row.split("\t") for row in rows), labels, strict=True
            )
        ]
    return parts


class Few(FewLabels):
    """One of the tasks of `PROMPTS`, with `N_VALID` texts that choose."""

    def __init__(self, name: str) -> None:
        read = {"sick": sick_pairs, "wic": word_pairs}.get(name)
        if read is None:
            super().__init__(name, N_VALID)
        else:
            self.n_epochs, parts = N_EPOCHS, read()
            self.train, self.valid, self.test = parts["train"], parts["valid"], parts["test"]
            self.valid = self.valid[:N_VALID]
            self.labels = tuple(sorted({record.label or "" for record in self.train}))
        if name == "rte":  # its test labels are hidden: the pairs to develop with report
            whole = load_task(name, source="local")
            self.test, self.valid = whole.valid, whole.train[-N_VALID:]
            self.train = whole.train[:-N_VALID]


def in_bfloat16(model: nn.Module) -> None:
    """Hold matrices in half the bytes; norms, tables and thin layers stay as they are."""
    for module in model.modules():
        if isinstance(module, nn.Linear) and module.weight.shape[0] > 2 * len(PROMPTS):
            module.to(torch.bfloat16)


class Published:
    """SmolLM2 as a classifier of texts, by the words for the labels of one task."""

    def __init__(self, task: str) -> None:
        loaded: Any = load_published("smollm2-135m")
        self.model: Any = loaded.model
        self.encode = loaded.tokenizer.to_fast().encode
        self.prompt, words = PROMPTS[task]
        self.labels = tuple(words)
        ids = [self.encode(word) for word in words.values()]
        assert all(len(word) == 1 for word in ids), "every label is one token"
        rows = self.model.embedding.weight[[word[0] for word in ids]].detach()
        self.rows = rows - rows.mean(dim=0)  # what all share changes no probability of a label
        in_bfloat16(self.model)

    def readings(self, records: Sequence[Labelled]) -> list[Reading]:
        """Lay records out as prompts."""
        return [
            Reading(self.encode(self.prompt(r)), self.labels.index(r.label or "")) for r in records
        ]

    def classifier(self, *, seed: int, is_pretrained: bool = True) -> TextClassifier:
        """Return a copy with thin layers, whose head are the words' rows and stays."""
        generator = torch.Generator().manual_seed(seed)
        if is_pretrained:
            model, rows = self.model, self.rows
        else:
            model = GPT(self.model.config, generator=generator)
            in_bfloat16(model)
            rows = torch.randn(self.rows.shape, generator=generator) / self.rows.shape[1] ** 0.5
        made = TextClassifier(model, len(self.labels))
        made.output.weight.data.copy_(rows)
        made.output.bias.data.zero_()
        made.requires_grad_(False)
        add_lora(made, 8, 16.0, targets=LORA, generator=generator)
        made.output.requires_grad_(False)
        in_bfloat16(made)
        for parameter in made.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.float()
        return made


def without_lora(model: nn.Module) -> None:
    """Take the thin layers away again, as if they had never been."""
    for name, module in list(model.named_modules()):
        if isinstance(module, LoRALinear):
            model.set_submodule(name, module.linear)


def batches_of_length(readings: Sequence[Reading]) -> list[list[int]]:
    """Return places of readings of like length, so that a batch has about as many tokens."""
    order = sorted(range(len(readings)), key=lambda place: readings[place].n_tokens)
    batches: list[list[int]] = [[]]
    for place in order:
        if batches[-1] and (len(batches[-1]) + 1) * readings[place].n_tokens > READ_AT_ONCE:
            batches.append([])
        batches[-1].append(place)
    return batches


@torch.no_grad()
def last_positions(model: Any, readings: Sequence[Reading]) -> dict[int, Tensor]:
    """Return the hidden state of the last position after `LAYER` and after the last norm."""
    found = {
        layer: torch.empty(len(readings), model.config.d_model)
        for layer in (LAYER, model.config.n_layers)
    }
    noted: list[Tensor] = []
    hook = model.stack.blocks[LAYER - 1].register_forward_hook(
        lambda module, inputs, output: noted.append(output)
    )
    for places in batches_of_length(readings):
        batch = collate([readings[place] for place in places])
        noted.clear()
        with torch.autocast("cpu", torch.bfloat16):
            states = model.encode(batch["ids"])
        rows, last = torch.arange(len(places)), batch["lengths"] - 1
        found[LAYER][places] = noted[0][rows, last].float()
        found[model.config.n_layers][places] = states[rows, last].float()
    hook.remove()
    return found


def kept_vectors(model: Published, name: str, records: Sequence[Labelled]) -> dict[int, Tensor]:
    """Return vectors that were kept, or compute and keep them, some at a time."""
    readings, parts = model.readings(records), []
    for start in range(0, len(readings), AT_ONCE):
        path = RUN / f"vectors-{name}-{start}.pt"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            torch.save(last_positions(model.model, readings[start : start + AT_ONCE]), path)
            print(path, flush=True)
        parts.append(torch.load(path))
    return {layer: torch.cat([part[layer] for part in parts]) for layer in parts[0]}


def fit_from(
    start: Tensor, inputs: Tensor, targets: Tensor, penalty: float, n_steps: int = 100
) -> Tensor:
    """Fit a head's change from where it starts, by L-BFGS; return its rows and its biases."""
    scale = inputs.norm(dim=-1).mean() / inputs.shape[1] ** 0.5
    change = torch.zeros(start.shape[0], start.shape[1] + 1, requires_grad=True)
    shifted = torch.cat([inputs / scale, torch.ones(len(inputs), 1)], dim=1)
    offsets = inputs @ start.T
    optimizer = torch.optim.LBFGS([change], max_iter=n_steps, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        value = nn.functional.cross_entropy(offsets + shifted @ change.T, targets)
        value = value + penalty * change[:, :-1].square().sum()
        value.backward()
        return value

    optimizer.step(loss)
    fitted = change.detach()
    return torch.cat([start + fitted[:, :-1] / scale, fitted[:, -1:]], dim=1)


def percent(guesses: Tensor, targets: Tensor) -> float:
    """Return accuracy in percent."""
    return 100 * accuracy(guesses.tolist(), targets.tolist())


class Heads:
    """All arms on vectors that do not move.

    Args:
        parts: vectors by layer and the classes' numbers, for the places of `train` that are known,
            "valid", "test" and whatever else is asked.
    """

    def __init__(
        self, model: Published, task: FewLabels, parts: dict[str, tuple[dict[int, Tensor], Tensor]]
    ) -> None:
        self.rows, self.task, self.parts = model.rows, task, parts
        self.last = model.model.config.n_layers

    def zero(self, recording: LabelRecording, name: str) -> None:
        """Ask without a label: as it is, and less the median, or mean, of unlabelled texts."""
        train = self.parts["train"][0][self.last] @ self.rows.T
        middle = {
            "two words": torch.zeros(len(self.rows)),
            "two words, median": (train - train[:, :1]).median(dim=0).values
            if len(self.rows) == 2
            else train.log_softmax(-1).mean(dim=0),
        }
        for arm, offset in middle.items():
            if not recording.lacks(f"{name}: {arm}", 0):
                continue
            result: dict[str, Any] = {"setting": {}}
            for part in self.parts:
                if part in ASKED:
                    vectors, targets = self.parts[part]
                    guesses = (vectors[self.last] @ self.rows.T - offset).argmax(-1)
                    result[f"{part}_accuracy"] = [percent(guesses, targets)]
            recording.add(f"{name}: {arm}", 0, result)

    def fitted(
        self, recording: LabelRecording, name: str, arm: str, n_labels: int, layer: int
    ) -> None:
        """Fit a head on each seed's labels; validation chooses the penalty for all seeds."""
        if not recording.lacks(f"{name}: {arm}", n_labels):
            return
        known, classes = self.parts["train"]

        def run(penalty: float, seed: int, part: str) -> float:
            places = self.places(n_labels, seed)
            x, y = known[layer][places], classes[places]
            asked, targets = self.parts[part]
            if arm == "head from words":
                head = fit_from(self.rows, x, y, penalty)
                scores = asked[layer] @ head[:, :-1].T + head[:, -1]
            else:
                middle, spread = x.mean(dim=0), x.std(dim=0) + 1e-3
                linear = fit_head((x - middle) / spread, y, len(self.rows), penalty)
                scores = linear((asked[layer] - middle) / spread).detach()
            return percent(scores.argmax(-1), targets)

        best = max(PENALTIES, key=lambda p: sum(run(p, s, "valid") for s in SEEDS))
        result: dict[str, Any] = {
            f"{part}_accuracy": [run(best, seed, part) for seed in SEEDS]
            for part in self.parts
            if part in ASKED
        }
        result |= {"setting": {"penalty": best}}
        recording.add(f"{name}: {arm}", n_labels, result)

    def places(self, n_labels: int, seed: int) -> list[int]:
        """Return the rows of `train` vectors that a seed learns from."""
        wanted = self.task.places(n_labels, seed)
        where = {place: row for row, place in enumerate(self.known_places)}
        return [where[place] for place in wanted]

    known_places: Sequence[int] = ()


def drawn_places(task: FewLabels, sizes: Sequence[int]) -> list[int]:
    """Return all places of the training texts that some seed learns from."""
    return sorted(
        {p for seed in SEEDS for p in task.places(min(max(sizes), len(task.train)), seed)}
    )


def heads(recording: LabelRecording, name: str, sizes: Sequence[int]) -> None:
    """Record what can be done without moving the model."""
    results = [(arm, n) for arm in HEADS for n in sizes] + [(arm, 0) for arm in UNTAUGHT]
    if not any(recording.lacks(f"{name}: {arm}", n) for arm, n in results):
        return
    task, model = Few(name), Published(name)
    asked = asked_parts(task, name)
    asked["valid"] = task.valid
    places = drawn_places(task, sizes)
    asked["train"] = [task.train[place] for place in places]
    parts = {
        part: (
            kept_vectors(model, f"{name}-{part}", records),
            torch.tensor([model.labels.index(r.label or "") for r in records]),
        )
        for part, records in asked.items()
    }
    found = Heads(model, task, parts)
    found.known_places = places
    found.zero(recording, name)
    for n_labels in sizes:
        found.fitted(recording, name, "head", n_labels, LAYER)
        found.fitted(recording, name, "head, last layer", n_labels, found.last)
        found.fitted(recording, name, "head from words", n_labels, found.last)


def drawn(task: FewLabels) -> list[Labelled]:
    """Return the part of the test sentences about which every arm is asked."""
    order = torch.randperm(len(task.test), generator=torch.Generator().manual_seed(0))
    return [task.test[place] for place in order[:N_DRAWN].tolist()]


def largest_class(recording: LabelRecording, name: str) -> None:
    """Record what the commonest label of the training texts gets right: the least to beat."""
    arm = f"{name}: largest class"
    if not recording.lacks(arm, 0):
        return
    task = Few(name)
    (commonest, _), *_ = Counter(record.label for record in task.train).most_common()
    result: dict[str, Any] = {"setting": {"label": commonest}}
    for part, records in asked_parts(task, name).items():
        n_right = sum(record.label == commonest for record in records)
        result[f"{part}_accuracy"] = [100 * n_right / len(records)]
    recording.add(arm, 0, result)


@torch.no_grad()
def right(made: TextClassifier, readings: Sequence[Reading]) -> list[bool]:
    """Say of each reading whether its class is the likeliest."""
    found = [False] * len(readings)
    for places in batches_of_length(readings):
        with torch.autocast("cpu", torch.bfloat16):
            batch = collate([readings[place] for place in places])
            rows = made(batch["ids"], lengths=batch["lengths"])[0].argmax(-1)
        for place, row in zip(places, rows.tolist(), strict=True):
            found[place] = row == readings[place].target
    return found


def lora(
    recording: LabelRecording,
    model: Published,
    n_labels: int,
    seed: int,
    *,
    name: str = "sst2_sentences",
    is_pretrained: bool = True,
    n_epochs: int | None = None,
    n_accumulate: int = 1,
) -> None:
    """Train the thin layers on one seed's labels, keep them, and ask."""
    arm = f"{name}: LoRA" + ("" if is_pretrained else ", new weights")
    setting = {"lr": LR} | ({"n_epochs": n_epochs} if n_epochs is not None else {})
    before = recording.of(arm).get(str(n_labels), {"setting": setting, "drawn_accuracy": []})
    if len(before["drawn_accuracy"]) > seed or not recording.is_wanted(arm):
        return
    task = Few(name)
    made = model.classifier(seed=seed, is_pretrained=is_pretrained)
    thin = [p for p in made.parameters() if p.requires_grad]
    path = RUN / f"{arm.replace(':', '').replace(',', '').replace(' ', '-')}-{n_labels}-{seed}.pt"
    if path.exists():
        for parameter, value in zip(thin, torch.load(path), strict=True):
            parameter.data.copy_(value)
    else:
        fine_tune(
            made,
            model.readings(task.drawn(n_labels, seed)),
            n_epochs=n_epochs or N_EPOCHS[n_labels],
            lr=LR,
            seed=seed,
            n_accumulate=n_accumulate,
        )
        RUN.mkdir(parents=True, exist_ok=True)
        torch.save([parameter.data for parameter in thin], path)
    made.eval()
    result = dict(before)
    for part, records in asked_parts(task, name).items():
        is_right = right(made, model.readings(records))
        key = f"{part}_accuracy"
        result[key] = [*before.get(key, []), 100 * sum(is_right) / len(is_right)]
    if is_pretrained:
        without_lora(model.model)
    result["n_trained"] = sum(p.numel() for p in thin)
    recording.add(arm, n_labels, result)


def asked_parts(task: FewLabels, name: str) -> dict[str, Sequence[Labelled]]:
    """Return the drawn part of the test and, beside films, our own sentences."""
    asked: dict[str, Sequence[Labelled]] = {"drawn": drawn(task)}
    if name == "sst2_sentences":
        own = load_task("our_films")
        asked["own"] = own.train + own.test
    return asked


def counting(recording: LabelRecording, n_labels: int) -> None:
    """Record naive Bayes on words: what the sentences say to a reader of single words."""
    arm = "sst2_sentences: naive Bayes"
    if not recording.lacks(arm, n_labels):
        return
    task, own = Few("sst2_sentences"), load_task("our_films")
    parts = {"valid": task.valid, "test": task.test, "drawn": drawn(task)}
    parts["own"] = own.train + own.test

    def run(k: float, seed: int, part: str) -> float:
        return naive_bayes(task, task.drawn(n_labels, seed), parts[part], 1, k)

    best = max(SMOOTHING, key=lambda k: sum(run(k, seed, "valid") for seed in SEEDS))
    result: dict[str, Any] = {
        f"{part}_accuracy": [run(best, seed, part) for seed in SEEDS] for part in ASKED
    }
    recording.add(arm, n_labels, result | {"setting": {"k": best}})


def minilm(
    recording: LabelRecording, n_labels: int, seeds: Sequence[int], *, is_lora: bool = False
) -> None:
    """Train all of MiniLM, or thin layers, at the better of the rates for the first seed; ask."""
    arm = f"sst2_sentences: MiniLM, {'LoRA' if is_lora else 'full'}"
    before = recording.of(arm).get(str(n_labels), {"setting": {}, "test_accuracy": []})
    if len(before["test_accuracy"]) >= len(seeds) or not recording.is_wanted(arm):
        return
    task, model, own = Few("sst2_sentences"), Pretrained("minilm"), load_task("our_films")
    lr: float | None = before["setting"].get("lr")

    def trained(lr: float, seed: int) -> TextClassifier:
        generator = torch.Generator().manual_seed(seed)
        backbone = model.copy(seed=seed)
        if is_lora:
            add_lora(backbone, 8, 16.0, targets=MINILM_LORA, generator=generator)
        made = TextClassifier(backbone, 2, pooling="mean", generator=generator)
        readings = task.read(model, task.drawn(n_labels, seed))
        fine_tune(made, readings, n_epochs=MINILM_EPOCHS[n_labels], lr=lr, seed=seed)
        return made

    def score(made: TextClassifier, records: Sequence[Labelled]) -> float:
        with torch.autocast("cpu", torch.bfloat16):
            guesses = predict(made, task.read(model, records))
        return 100 * accuracy(guesses, task.targets(records))

    if lr is None:
        rates = MINILM_LORA_RATES if is_lora else MINILM_RATES
        valid = {rate: score(trained(rate, 0), task.valid) for rate in rates}
        lr = max(valid, key=lambda rate: valid[rate])
        before |= {"setting": {"lr": lr}, "valid_accuracy_by_rate": valid}
    for seed in seeds[len(before["test_accuracy"]) :]:
        made, result = trained(lr, seed), dict(before)
        for part, records in zip(
            ASKED, (task.test, drawn(task), own.train + own.test), strict=True
        ):
            name = f"{part}_accuracy"
            result[name] = [*before.get(name, []), score(made, records)]
        recording.add(arm, n_labels, result)
        before = recording.of(arm)[str(n_labels)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet, and record it arm by arm."""
    recording = LabelRecording(
        arguments,
        __doc__,
        __file__,
        what="percent of film reviews, TREC's questions, RTE's pairs labelled rightly, by seed",
        n_epochs=N_EPOCHS,
        weights={
            "minilm": SHA256["all-MiniLM-L6-v2"],
            "smollm2-135m": PUBLISHED["smollm2-135m"].sha256,
        },
        seeds=SEEDS,
        arms=ARMS,
    )
    model, others = Published("sst2_sentences"), [name for name in PROMPTS if "sst2" not in name]
    for name in PROMPTS:
        largest_class(recording, name)
        heads(recording, name, (20, 100) if name in others else N_LABELS)
    for n_labels in (*N_LABELS, 6920):
        counting(recording, n_labels)
    for n_labels in N_LABELS:
        for seed in SEEDS:
            lora(recording, model, n_labels, seed)
        minilm(recording, n_labels, SEEDS, is_lora=True)
    for seed in SEEDS[:3]:
        lora(recording, model, 20, seed, is_pretrained=False)
    for name in others:
        asked = Published(name)
        for seed in SEEDS:
            lora(recording, asked, 100, seed, name=name, n_accumulate=4)
        if name == "rte":
            n_pairs = len(Few(name).train)
            for seed in SEEDS[:3]:
                lora(
                    recording, asked, n_pairs, seed, name=name, n_epochs=RTE_EPOCHS, n_accumulate=4
                )
    for n_labels in (20, 100, 6920):
        minilm(recording, n_labels, SEEDS)
    for seed in SEEDS:
        lora(recording, model, 6920, seed)


if __name__ == "__main__":
    main()

"""What fine-tuning does to a pretrained model: what it learns, how far it moves, what it forgets.

    python -m benchmarks.chapters.fine_tuning [--record FILE]

capitals  bert-small is to say of each word of Wikipedia, all in small letters, whether it had a
    capital. 300 sentences to learn from, four ways, the same updates; then the distance that the
    weights have moved, and the loss along the straight line between the ends of two seeds.
pairs     gpt-small is to judge pairs of sentences drawn from a grammar, framed by [START], [DELIM]
    and [EXTRACT]: pretrained, with new weights, and reading the second sentence alone.
stories   gpt-small goes on as a language model of the book's stories: all of it, LoRA, or all of
    it with an eighth of Wikipedia mixed in. Reported are bits per byte of stories and of Wikipedia.
Three seeds; each way has its own learning rate, the best of RATES for seed 0 on validation data. A
record that was begun with the same weights is gone on with. Nothing published compares.
"""

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from benchmarks.chapters.adaptation import framed, pair_readings
from benchmarks.chapters.backbones import Pretrained, Reading, collate, fine_tune, predict
from benchmarks.records import Recording, command_line
from benchmarks.weights.pretrained_rows import digest
from course_pkg.evaluation.likelihood import count_bytes, evaluate
from course_pkg.evaluation.metrics import accuracy, f1
from course_pkg.models import IGNORE
from course_pkg.models.adaptation import TextClassifier, TokenTagger, add_lora, merge_lora
from course_pkg.models.transformer import count_parameters
from course_pkg.text.batches import example_batches, next_token_rows
from course_pkg.text.corpora import load_corpus
from course_pkg.text.corpora.labelled_data import Labelled, Tagged, capital_letters
from course_pkg.text.stories.tasks import LABELS, Inferences
from course_pkg.training.trainer import Trainer, TrainerConfig

SEEDS = (0, 1, 2)
RATES = {
    "scratch": (3e-4, 1e-3, 3e-3, 1e-2),
    "frozen": (3e-3, 1e-2, 3e-2),
    "LoRA": (3e-3, 1e-2, 3e-2),
    "full": (3e-4, 1e-3, 3e-3),
}
TAGGER_RATES = RATES | {
    "frozen": (1e-3, *RATES["frozen"]),
    "LoRA": (1e-3, *RATES["LoRA"]),
    "full": (1e-4, *RATES["full"]),
}
ALONG = (0.0, 0.25, 0.5, 0.75, 1.0)

Arm = dict[str, Any]


def tuned(
    method: str,
    run: Callable[[float, int], Any],
    score: Callable[[Any, str], float],
    digits: int = 2,
    rates: Mapping[str, Sequence[float]] = RATES,
) -> tuple[Arm, list[Any]]:
    """Find the rate with seed 0 on validation data, then run the other seeds at it."""
    tried, made = {}, {}
    for lr in rates[method]:
        made[lr] = run(lr, SEEDS[0])
        tried[lr] = score(made[lr], "valid")
    lr = max(tried, key=tried.__getitem__)
    models = [made[lr], *(run(lr, seed) for seed in SEEDS[1:])]
    arm = {"lr": lr, "valid_by_rate": {f"{r:g}": round(v, digits) for r, v in tried.items()}}
    return arm | {"test": [round(score(model, "test"), digits) for model in models]}, models


def tag_reading(model: Pretrained, sentence: Tagged) -> Reading:
    """Cut words into pieces; the first piece of each carries its tag."""
    ids, targets = [model.special_ids["[CLS]"]], [IGNORE]
    for place, (word, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True)):
        pieces = model.encode(f" {word}" if place else word)
        target = {"small": 0, "capital": 1}.get(tag, IGNORE)
        ids, targets = ids + pieces, [*targets, target, *[IGNORE] * (len(pieces) - 1)]
    most = model.context_length - 1
    return Reading([*ids[:most], model.special_ids["[SEP]"]], [*targets[:most], IGNORE])


def asked(sentences: Sequence[Reading], guesses: Sequence[list[int]]) -> tuple[list, list]:
    """Return guesses and answers, wherever there is an answer."""
    pairs = [
        pair
        for reading, row in zip(sentences, guesses, strict=True)
        for pair in zip(row, reading.target, strict=False)
        if pair[1] != IGNORE
    ]
    return [guess for guess, _ in pairs], [answer for _, answer in pairs]


def mean_loss(model: nn.Module, readings: Sequence[Reading]) -> float:
    """Return the mean loss of batches of 50, in nats."""
    model.eval()
    with torch.no_grad():
        found = [model(**collate(readings[n : n + 50]))[1] for n in range(0, len(readings), 50)]
    return float(torch.stack(found).mean())


def distance(model: nn.Module, start: nn.Module) -> float:
    """Return how far the backbone has moved, as a share of the norm of where it began."""
    began = dict(start.named_parameters())
    moved = [(p - began[name]).square().sum() for name, p in model.named_parameters()]
    whole = [p.square().sum() for p in began.values()]
    return float((torch.stack(moved).sum() / torch.stack(whole).sum()).sqrt().detach())


def between(model: nn.Module, other: nn.Module, share: float) -> nn.Module:
    """Return a model on the straight line from one to another."""
    mixed, end = copy.deepcopy(model), other.state_dict()
    mixed.load_state_dict(
        {name: torch.lerp(x, end[name], share) if x.is_floating_point() else x
         for name, x in mixed.state_dict().items()}
    )  # fmt: skip
    return mixed


def capitals(n_train: int = 300, n_test: int = 250, n_epochs: int = 4) -> dict[str, Arm]:
    """Restore capital letters."""
    model, corpus = Pretrained("bert-small"), load_corpus("wikipedia")
    drawn = {}
    for part, n in (("train", n_train), ("valid", n_test), ("test", n_test)):
        sentences = capital_letters(getattr(corpus, part))
        order = torch.randperm(len(sentences), generator=torch.Generator().manual_seed(0))
        drawn[part] = [sentences[place] for place in order[:n].tolist()]
    counts: defaultdict[str, Counter] = defaultdict(Counter)
    for sentence in drawn["train"]:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            counts[word][tag] += tag != "first"
    said, right = [], []
    for sentence in drawn["test"]:
        for word, tag in zip(sentence.words[1:], sentence.tags[1:], strict=True):
            most = counts[word].most_common(1)[0][0] if counts[word] else "small"
            said, right = [*said, int(most == "capital")], [*right, int(tag == "capital")]
    arms: dict[str, Arm] = {"most frequent": {"test": [round(100 * f1(said, right), 2)] * 3}}
    readings = {part: [tag_reading(model, s) for s in rows] for part, rows in drawn.items()}

    def score(tagger: nn.Module, part: str) -> float:
        return 100 * f1(*asked(readings[part], predict(tagger, readings[part])))

    for method in RATES:

        def start(seed: int, method: str = method) -> TokenTagger:
            generator = torch.Generator().manual_seed(seed)
            backbone = model.copy(is_pretrained=method != "scratch", seed=seed)
            if method == "LoRA":
                add_lora(backbone, rank=8, generator=generator)
            return TokenTagger(backbone, 2, is_frozen=method == "frozen", generator=generator)

        def run(lr: float, seed: int, start: Any = start) -> TokenTagger:
            tagger = start(seed)
            rows = readings["train"]
            fine_tune(tagger, rows, n_epochs=n_epochs, lr=lr, seed=seed, batch_size=16)
            return tagger

        arm, taggers = tuned(method, run, score, rates=TAGGER_RATES)
        arm["n_trained"] = sum(p.numel() for p in taggers[0].parameters() if p.requires_grad)
        if method == "LoRA":
            for tagger in taggers:
                merge_lora(tagger)
        began = [
            start(seed).features.backbone if method == "scratch" else model.model for seed in SEEDS
        ]
        arm["distance"] = [
            distance(tagger.features.backbone, beginning)
            for tagger, beginning in zip(taggers, began, strict=True)
        ]
        arm["between_seeds"] = [
            [
                mean_loss(between(taggers[a], taggers[b], share), readings["test"][:150])
                for share in ALONG
            ]
            for a, b in ((0, 1), (0, 2), (1, 2))
        ]
        arms[method] = arm
        print("capitals", method, arm, flush=True)
    return arms


def pairs(n_train: int = 1000, n_test: int = 500, n_epochs: int = 3) -> dict[str, Arm]:
    """Judge pairs of sentences."""
    model, source, arms = Pretrained("gpt-small"), Inferences(), {}
    records = {
        part: [Labelled(p.premise, p.label, p.hypothesis) for p in source.sample(n, seed=seed)]
        for seed, (part, n) in enumerate(
            (("train", n_train), ("valid", n_test), ("test", n_test)), 1
        )
    }
    for name, method in (("full", "full"), ("scratch", "scratch"), ("hypothesis only", "full")):
        shown = {
            part: [replace(r, text="") if name == "hypothesis only" else r for r in rows]
            for part, rows in records.items()
        }
        frame = framed(model, model.copy())
        readings = {part: pair_readings(model, frame, rows) for part, rows in shown.items()}

        def run(
            lr: float, seed: int, method: str = method, readings: Any = readings
        ) -> TextClassifier:
            backbone = model.copy(is_pretrained=method != "scratch", seed=seed)
            framed(model, backbone)
            judge = TextClassifier(
                backbone, len(LABELS), generator=torch.Generator().manual_seed(seed)
            )
            fine_tune(judge, readings["train"], n_epochs=n_epochs, lr=lr, seed=seed, batch_size=16)
            return judge

        def score(judge: nn.Module, part: str, readings: Any = readings) -> float:
            return 100 * accuracy(
                predict(judge, readings[part]), [r.target for r in readings[part]]
            )

        arms[name], _ = tuned(method, run, score)
        print("pairs", name, arms[name], flush=True)
    return arms


def stories(n_stories: int = 600, n_valid: int = 100, n_test: int = 150) -> dict[str, Arm]:
    """Go on as a language model of stories, and read Wikipedia before and after."""
    model = Pretrained("gpt-small")
    told, wikipedia = load_corpus("stories"), load_corpus("wikipedia")
    texts = {
        "valid": told.valid[:n_valid],
        "stories": told.test[:n_test],
        "wikipedia": [text[:3000] for text in wikipedia.test],
    }
    rows = [model.encode(text) for text in told.train[:n_stories]]
    # An eighth of the tokens: pieces of articles as long as a story.
    stream = [i for text in wikipedia.train for i in model.encode(text)]
    pieces = [stream[n * 600 : n * 600 + 60] for n in range(n_stories // 8)]

    def bits(gpt: nn.Module, part: str) -> float:
        part = "stories" if part == "test" else part
        documents = [model.encode(text) for text in texts[part]]
        found = evaluate(gpt.eval(), documents, count_bytes(texts[part]), eos_id=model.eos_id)
        return -float(found.bits_per_byte or math.nan)

    arms: dict[str, Arm] = {
        "before": {part: [round(-bits(model.model, part), 4)] for part in ("stories", "wikipedia")}
    }
    for name, method in (("full", "full"), ("LoRA", "LoRA"), ("full, with Wikipedia", "full")):
        mixed = rows + (pieces if name == "full, with Wikipedia" else [])

        def run(lr: float, seed: int, method: str = method, mixed: Any = mixed) -> nn.Module:
            gpt = model.copy(dropout=0.0, seed=seed)
            if method == "LoRA":
                add_lora(gpt, rank=8, generator=torch.Generator().manual_seed(seed))
            batches = example_batches(
                mixed, lambda some, _: next_token_rows(some, model.eos_id), 16, seed=seed,
                lengths=[len(row) for row in mixed],
            )  # fmt: skip
            n = len(batches)
            config = TrainerConfig(
                n, lr=lr, n_warmup=n // 10, weight_decay=0.01, precision="bfloat16", fused=True,
                log_every=n, checkpoint_every=n, seed=seed, spike_factor=math.inf,
            )  # fmt: skip
            Trainer(gpt, batches, config).train()
            return gpt

        arm, models = tuned(method, run, bits, digits=4)
        arm["stories"] = [-score for score in arm.pop("test")]
        arm["wikipedia"] = [round(-bits(gpt, "wikipedia"), 4) for gpt in models]
        if name == "full":  # the row of the running table: the whole test parts, seed 0
            whole = {}
            for corpus in (told, wikipedia):
                documents = [model.encode(text) for text in corpus.test]
                found = evaluate(
                    models[0], documents, count_bytes(corpus.test), eos_id=model.eos_id
                )
                whole[corpus.name] = {
                    "test_perplexity": found.perplexity, "bits_per_byte": found.bits_per_byte,
                }  # fmt: skip
            arm["rows"] = whole
            arm["n_parameters"] = count_parameters(models[0])
        arms[name] = arm
        print("stories", name, arm, flush=True)
    return arms


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is not recorded yet."""
    experiments = {"capitals": capitals, "stories": stories, "pairs": pairs}
    recording = Recording(command_line(__doc__, __file__, arms=experiments), arguments)
    recording.begin(
        {
            "what": "capitals: F1 of words with a capital, times 100; pairs: percent right; "
            "stories: bits per byte"
        },
        same={
            "seeds": SEEDS,
            "weights_sha256": {name: digest(name) for name in ("bert-small", "gpt-small")},
        },
    )
    for name in recording.missing(experiments, within=None):
        recording.keep(name, experiments[name]())


if __name__ == "__main__":
    main()

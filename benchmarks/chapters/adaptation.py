"""Tagging, inference and choice: pretrained against new weights on tasks of other shapes.

    COURSE_DATA=DIR python -m benchmarks.chapters.adaptation --model bert-small [--model gpt-small]
        [--tasks tags stories snli endings] [--n-epochs 2] [--n-train 3000] [--record FILE]

Four tasks, each on N training examples, each model with new weights and with its pretrained ones:
  tags     a part of speech for each word of UD English EWT, read off the word's first piece; also
           with everything frozen but the new layer. Floor: each word's most frequent tag. For
           BERTs, which see both sides of a word.
  stories  does the premise entail, contradict, or leave open the hypothesis? Drawn from a grammar:
           a perfect reader is always right, a reader of hypotheses alone one time in three.
  snli     the same question of real captions: SNLI's development set to learn from, 2,000 pairs of
           its test set to report on.
  endings  which of four sentences ends the paragraph? TinyStories; three endings are from other
           paragraphs. Floor: the ending that shares most words with the paragraph. For GPTs.
Pairs are framed by [START], [DELIM] and [EXTRACT] for GPTs (Radford et al. 2018, figure 1), by
[CLS] and [SEP] for BERTs. DIR must have ud_en_ewt/, snli/ and tinystories/; what it lacks is
skipped, and said. Of a text longer than 128 pieces the rest is not read, nor scored.
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from benchmarks.chapters.backbones import LR, Pretrained, Reading, fine_tune, model_options, predict
from benchmarks.papers.movie_reviews import POOLING, sample
from benchmarks.papers.published import Clock, Figure, report
from course_pkg.evaluation.metrics import accuracy
from course_pkg.models import IGNORE
from course_pkg.models.adaptation import (
    Backbone,
    MultipleChoice,
    TextClassifier,
    TokenTagger,
    add_tokens,
)
from course_pkg.text.batches import Batch, pad_rows
from course_pkg.text.batches.formatting import TaskFormat
from course_pkg.text.batches.masking import SentencePair, join_pair
from course_pkg.text.corpora import load_corpus
from course_pkg.text.corpora.labelled_data import Labelled, Tagged, load_task
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.text.stories.tasks import LABELS, Inferences

TASKS = ("tags", "stories", "snli", "endings")
N_TEST = 2000
LONGEST = 128
N_CHOICES = 4

PUBLISHED = {
    "tags": [
        Figure(
            "spaCy with a large transformer", None, 96.9, "en_udv25_englishewt_trf's card, EWT 2.5"
        )
    ],
    "stories": [Figure("best possible", None, 100.0, "by construction")],
    "snli": [Figure("GPT-1", None, 89.9, "Radford et al. 2018, table 2, on 549,367 pairs")],
    "endings": [],
}
"""For orientation: far larger models on far more data."""

Row = tuple[str, float, float]
"""What was trained, its accuracy in percent, and the seconds it took."""


def tag_readings(
    model: Pretrained, sentences: Sequence[Tagged], number: dict[str, int]
) -> list[Reading]:
    """Cut words into pieces; the first piece of each carries its tag (Devlin et al. 2019, 5.3)."""
    found = []
    for sentence in sentences:
        ids, targets = [model.special_ids["[CLS]"]], [IGNORE]
        for place, (word, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True)):
            pieces = model.encode(f" {word}" if place else word)
            ids += pieces
            targets += [number[tag], *[IGNORE] * (len(pieces) - 1)]
        kept = longest(model) - 1
        found.append(Reading([*ids[:kept], model.special_ids["[SEP]"]], [*targets[:kept], IGNORE]))
    return found


def tag_accuracy(guesses: Sequence[list[int]], readings: Sequence[Reading]) -> float:
    """Return the share of words, in percent, whose tag is right."""
    pairs = [
        (guess, target)
        for row, reading in zip(guesses, readings, strict=True)
        for guess, target in zip(row, reading.target, strict=False)  # the row is padded
        if target != IGNORE
    ]
    return 100 * accuracy([guess for guess, _ in pairs], [target for _, target in pairs])


def frequent_tags(train: Sequence[Tagged], test: Sequence[Tagged]) -> float:
    """Return the accuracy of each word's most frequent tag, or of the most frequent one of all."""
    counts: defaultdict[str, Counter] = defaultdict(Counter)
    for sentence in train:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            counts[word.lower()][tag] += 1
    default = sum(counts.values(), Counter())
    pairs = [pair for s in test for pair in zip(s.words, s.tags, strict=True)]
    guesses = [counts.get(word.lower(), default).most_common(1)[0][0] for word, _ in pairs]
    return 100 * accuracy(guesses, [tag for _, tag in pairs])


def tags(model: Pretrained, options: argparse.Namespace) -> list[Row]:
    """Tag words: the floor, new weights, a frozen encoder, and all of it trained."""
    task = load_task("ud_en_ewt", source="local")
    chosen = sample(task.train, options.n_train)
    number = {label: place for place, label in enumerate(task.labels)}
    train, test = (tag_readings(model, part, number) for part in (chosen, task.test))
    rows = [("most frequent tag of each word", frequent_tags(chosen, task.test), 0.0)]
    for method in ("from scratch", "linear probe", "full fine-tuning"):
        clock = Clock(options.device)
        tagger = TokenTagger(
            model.copy(is_pretrained=method != "from scratch"),
            len(number),
            is_frozen=method == "linear probe",
            generator=torch.Generator().manual_seed(0),
        )
        fine_tune(tagger, train, n_epochs=options.n_epochs, lr=LR[method], device=options.device)
        score = tag_accuracy(predict(tagger, test, options.device), test)
        rows.append((f"{model.name}, {method}", score, clock.seconds()))
    return rows


def longest(model: Pretrained) -> int:
    """Return how many tokens of an example a model gets to see."""
    return min(LONGEST, model.context_length)


def framed(model: Pretrained, backbone: Backbone) -> TaskFormat:
    """Give a copy of a GPT the three tokens that frame its tasks."""
    ids = add_tokens(backbone, 3, torch.Generator().manual_seed(0))
    return TaskFormat(*ids, max_length=longest(model))


def pair_readings(
    model: Pretrained, frame: TaskFormat | None, records: Sequence[Labelled]
) -> list[Reading]:
    """Lay out premises and hypotheses as the kind of model wants them."""
    found = []
    for record in records:
        first, second = model.encode(record.text), model.encode(record.second or "")
        target = LABELS.index(record.label or "")
        if frame is not None:
            found.append(Reading(frame.pair(first, second), target))
        else:
            cls_id, sep_id = model.special_ids["[CLS]"], model.special_ids["[SEP]"]
            pair = SentencePair(first, second, is_next=True)
            ids, segments = join_pair(pair, cls_id=cls_id, sep_id=sep_id, longest=longest(model))
            found.append(Reading(ids, target, segments))
    return found


def pairs(
    model: Pretrained,
    train: Sequence[Labelled],
    test: Sequence[Labelled],
    options: argparse.Namespace,
) -> list[Row]:
    """Judge pairs: new weights, and pretrained ones."""
    rows = []
    for method in ("from scratch", "full fine-tuning"):
        clock = Clock(options.device)
        backbone = model.copy(is_pretrained=method != "from scratch")
        frame = framed(model, backbone) if model.kind == "gpt" else None
        classifier = TextClassifier(
            backbone,
            len(LABELS),
            pooling=POOLING[model.kind],
            generator=torch.Generator().manual_seed(0),
        )
        learned, held_out = (pair_readings(model, frame, part) for part in (train, test))
        fine_tune(
            classifier, learned, n_epochs=options.n_epochs, lr=LR[method], device=options.device
        )
        guesses = predict(classifier, held_out, options.device)
        score = 100 * accuracy(guesses, [reading.target for reading in held_out])
        rows.append((f"{model.name}, {method}", score, clock.seconds()))
    return rows


def stories(model: Pretrained, options: argparse.Namespace) -> list[Row]:
    """Judge generated pairs."""
    source = Inferences()
    train, test = (
        [
            Labelled(pair.premise, pair.label, pair.hypothesis)
            for pair in source.sample(n, seed=seed)
        ]
        for n, seed in ((options.n_train, 1), (N_TEST, 2))
    )
    return pairs(model, train, test, options)


def snli(model: Pretrained, options: argparse.Namespace) -> list[Row]:
    """Judge captions."""
    task = load_task("snli_small", source="local")
    return pairs(model, sample(task.train, options.n_train), sample(task.test, N_TEST), options)


@dataclass(frozen=True)
class Question:
    """A paragraph without its end, sentences that might end it, and which one does."""

    text: str
    answers: list[str]
    target: int


def questions(paragraphs: Sequence[str], seed: int) -> list[Question]:
    """Take the last sentence off each paragraph of three or more; mix in others' last sentences."""
    split = [re.split(r"(?<=[.!?\"])\s+", paragraph.strip()) for paragraph in paragraphs]
    split = [sentences for sentences in split if len(sentences) >= 3]
    generator = torch.Generator().manual_seed(seed)
    found = []
    for place, sentences in enumerate(split):
        steps = 1 + torch.randperm(len(split) - 1, generator=generator)[: N_CHOICES - 1]
        answers = [split[(place + step) % len(split)][-1] for step in steps.tolist()]
        target = int(torch.randint(N_CHOICES, (), generator=generator))
        answers.insert(target, sentences[-1])
        found.append(Question(" ".join(sentences[:-1]), answers, target))
    return found


def shared_words(question: Question) -> int:
    """Return the answer with the largest share of its words in the paragraph."""
    known = set(re.findall(r"\w+", question.text.lower()))

    def share(answer: str) -> float:
        words = re.findall(r"\w+", answer.lower())
        return sum(word in known for word in words) / max(len(words), 1)

    return max(range(N_CHOICES), key=lambda place: share(question.answers[place]))


@dataclass(frozen=True)
class Choice:
    """A question with each of its answers as token ids."""

    candidates: list[list[int]]
    target: int

    @property
    def n_tokens(self) -> int:
        """Length of its longest candidate."""
        return max(map(len, self.candidates))


def collate_choices(choices: Sequence[Choice]) -> Batch:
    """Pad all candidates of all questions to one length."""
    flat = [ids for choice in choices for ids in choice.candidates]
    ids, lengths = pad_rows(flat, 0)
    shape = (len(choices), N_CHOICES)
    targets = torch.tensor([choice.target for choice in choices])
    return {"ids": ids.view(*shape, -1), "lengths": lengths.view(shape), "targets": targets}


def endings(model: Pretrained, options: argparse.Namespace) -> list[Row]:
    """Choose endings: the floor, new weights, and pretrained ones."""
    corpus = load_corpus("tinystories_excerpt", source="local")
    # The model's own training text is the corpus' training part: neither of these.
    train, test = questions(corpus.valid, seed=1)[: options.n_train], questions(corpus.test, seed=2)
    gold = [question.target for question in test]
    floor = 100 * accuracy([shared_words(question) for question in test], gold)
    rows = [("the ending with most words of the paragraph", floor, 0.0)]
    for method in ("from scratch", "full fine-tuning"):
        clock = Clock(options.device)
        backbone = model.copy(is_pretrained=method != "from scratch")
        frame = framed(model, backbone)
        learned, held_out = (
            [
                Choice(
                    frame.choices(model.encode(q.text), [model.encode(f" {a}") for a in q.answers]),
                    q.target,
                )
                for q in part
            ]
            for part in (train, test)
        )
        chooser = MultipleChoice(backbone, generator=torch.Generator().manual_seed(0))
        fine_tune(
            chooser,
            learned,
            n_epochs=options.n_epochs,
            lr=LR[method],
            device=options.device,
            collate=collate_choices,
        )
        score = 100 * accuracy(predict(chooser, held_out, options.device, collate_choices), gold)
        rows.append((f"{model.name}, {method}", score, clock.seconds()))
    return rows


EXPERIMENTS: dict[str, tuple[Callable[[Pretrained, Any], list[Row]], tuple[str, ...]]] = {
    "tags": (tags, ("bert",)),
    "stories": (stories, ("gpt", "bert")),
    "snli": (snli, ("gpt", "bert")),
    "endings": (endings, ("gpt",)),
}
"""Each task's experiment, and the kinds of model that it is for."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print every row beside the published figures and, on request, record them."""
    parser = model_options(__doc__, __file__)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--n-train", type=int, default=3000, help="examples to learn from [3000]")
    options = parser.parse_args(arguments)
    models = [Pretrained(folder) for folder in options.model]
    figures, seconds = [], {}
    for name in options.tasks:
        experiment, kinds = EXPERIMENTS[name]
        for model in models:
            if model.kind not in kinds:
                continue
            try:
                rows = experiment(model, options)
            except SourceUnavailableError as error:
                print(f"Not run: {error}")
                break
            for subject, score, spent in rows:
                print(f"  {name}: {subject:45} {score:.1f}", flush=True)
                seconds[f"{name}: {subject}"] = round(spent, 1)
                figures.append(
                    Figure(f"{name}: {subject}", score, None, f"{spent / 60:.1f} minutes")
                )
        figures += [
            Figure(f"{name}: {f.subject}", None, f.published, f.source) for f in PUBLISHED[name]
        ]
    report(
        figures,
        f"Accuracy in percent, with {options.n_train:,} training examples at most.",
        is_higher_better=True,
        module="benchmarks.chapters.adaptation",
        options=options,
        arguments=arguments,
        details={"seconds": seconds, "n_epochs": options.n_epochs, "n_train": options.n_train},
    )


if __name__ == "__main__":
    main()

"""What can be read off the shipped models' vectors, layer by layer, and which heads follow a name.

    python -m benchmarks.chapters.probing [--n 320] [--model MODEL ...] [--record FILE]

A linear probe is trained on frozen vectors of one layer, at the last token of a text; a quarter of
the texts is kept for the test. Each task is set beside its control task, in which a word has a
label at random, the same wherever it stands (Hewitt & Liang 2019): what a probe learns by heart.
The same structure with new weights shows what needs no training.
  syntax       Is the subject singular or plural, read at another noun after it?
  new nouns    The same, with subjects in the test that were not in training.
  coreference  Does the pronoun stand for the first of two names, or the second?
  new names    The same, with names in the test that were not in training.
  reasoning    Two people are in two places, a third stands next to one of them: which place is it?
  topic        From which of seven Wikipedia articles, unknown to the models, is the sentence?
  meaning      Is it an animal, a place or a thing? The words of the test were not in training.
  sentiment    Did the reviewer like it? "But" and "not" turn the words round.
  arithmetic   Is the sum of two numbers odd? The sums of the test were not in training.
  facts        On which continent is the country? Those of the test were not in training.
  antecedent   The share of pronouns and repeated names whose strongest weight, their own place left
               out, is on the name before (Clark et al. 2019): of the head that does best on half of
               the stories, on the other.
Three seeds, each with texts, split and control labels of its own. The published model is asked by
`--model smollm2-135m` (`make published`): its matrices in bfloat16, and every third block, since it
has thirty. With --record each run is written down at once, and a call that was cut off goes on
where it stopped. Nothing published compares.
"""

import random
import re
import statistics
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise, product
from typing import Any

import torch

from benchmarks.chapters.backbones import Pretrained
from benchmarks.chapters.published_labels import in_bfloat16
from benchmarks.papers.published import Figure, command_line, report
from benchmarks.records import begun, write_record
from course_pkg.evaluation.probing import heads_that_follow, layer_vectors, probe, trace_of
from course_pkg.text.corpora import load_corpus
from course_pkg.text.stories.grammar import Story, StoryGrammar
from course_pkg.text.stories.lexicon import BOYS, GIRLS, PRONOUNS
from course_pkg.text.stories.tasks import Reviews
from course_pkg.weights.published import PUBLISHED

MODELS, SEEDS, N_STORIES = ("gpt-small", "bert-small"), (0, 1, 2), 40
MOST_BLOCKS = 10
"""So many blocks of a model are probed, evenly, the last among them."""

NOUNS = ("dog", "bird", "tree", "house", "song", "road", "ship", "girl", "horse", "book", "town",
         "word", "game", "flower", "letter", "room")  # fmt: skip
"""Nouns that are one token in the singular, and another in the plural: no -s can be seen."""
PLACED = ("near", "behind", "before", "beside")
KINDS = {
    "animal": "dog cat bird rabbit duck horse lion bear fish wolf mouse cow pig sheep frog monkey",
    "place": "park beach farm forest market lake garden city village church school river kitchen "
    "street island hospital",
    "thing": "ball book hat cup lamp ring map drum knife sword letter chair table box key coat",
}
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
STAYS = ("park", "beach", "farm", "forest", "market", "lake", "garden", "kitchen")
SENTENCE, N_SENTENCES = re.compile(r"(?<=[.!?])\s+"), 40
CONTINENTS = {
    "Europe": "France Germany Spain Italy Poland Sweden Norway Greece Austria Ireland",
    "Asia": "China Japan India Vietnam Korea Iraq Iran Thailand Israel Pakistan",
    "Africa": "Egypt Nigeria Kenya Algeria Morocco Ghana Ethiopia Sudan Tunisia Zimbabwe",
    "America": "Canada Mexico Brazil Chile Peru Cuba Argentina Colombia Venezuela Jamaica",
}


@dataclass(frozen=True)
class Example:
    """A text at whose last token a label is looked for, and the word that has a control label."""

    text: str
    label: int
    word: Hashable


Task = Callable[[random.Random, int], tuple[list[Example], list[Example]]]
"""From a source of randomness and a number of examples to those of training and of the test."""


def shuffled(examples: Sequence[Example], rng: random.Random, n: int) -> tuple[list, list]:
    """Return at most n different examples in another order, a quarter of them for the test."""
    chosen = rng.sample(examples, min(n, len(examples)))
    return chosen[len(chosen) // 4 :], chosen[: len(chosen) // 4]


def by_word(examples: Sequence[Example], rng: random.Random, n: int) -> tuple[list, list]:
    """Keep a quarter of the words of each label, with all their texts, for the test."""
    labels: dict[int, list[Hashable]] = {}
    for example in examples:
        words = labels.setdefault(example.label, [])
        if example.word not in words:
            words.append(example.word)
    kept = {w for words in labels.values() for w in rng.sample(words, round(len(words) / 4))}
    parts = [[e for e in examples if (e.word in kept) is is_test] for is_test in (False, True)]
    sizes = (n - n // 4, n // 4)
    first, second = (rng.sample(p, min(k, len(p))) for p, k in zip(parts, sizes, strict=True))
    return first, second


def syntax(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """The number of a subject, read at a noun of either number that stands between it and its verb.

    The vector at "roads" after "The dog near the" must hold that it is *dog*.
    """
    return shuffled(subjects(NOUNS), rng, n)


def syntax_of_new_nouns(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """The same, with subjects in the test that were not in training, in either number."""
    nouns = rng.sample(NOUNS, len(NOUNS))
    kept = len(nouns) // 4
    return (
        rng.sample(subjects(nouns[kept:]), n - n // 4),
        rng.sample(subjects(nouns[:kept]), n // 4),
    )


def subjects(nouns: Sequence[str]) -> list[Example]:
    """A noun, with a second one after it: whether the first is plural."""
    return [
        Example(f"{start} {one}{'s' * is_plural} {where} the {other}{end}", is_plural, other + end)
        for start, one, is_plural, where, other, end in product(
            ("The", "Then the"), nouns, (0, 1), PLACED, NOUNS, ("", "s")
        )
        if one != other
    ]


def coreference(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """Which of two names a pronoun stands for: 0 for the first, 1 for the second."""
    return shuffled(meetings(GIRLS, BOYS), rng, n)


def coreference_of_new_names(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """The same, with names in the test that were not in training."""
    girls, boys = rng.sample(GIRLS, len(GIRLS)), rng.sample(BOYS, len(BOYS))
    return (
        rng.sample(meetings(girls[2:], boys[2:]), n - n // 4),
        rng.sample(meetings(girls[:2], boys[:2]), n // 4),
    )


def meetings(girls: Sequence[str], boys: Sequence[str]) -> list[Example]:
    """A girl and a boy, and a pronoun for one of them."""
    examples = []
    for girl, boy, is_boy_first, is_boy_meant in product(girls, boys, (0, 1), (0, 1)):
        first, second = (boy, girl) if is_boy_first else (girl, boy)
        pronoun = "He" if is_boy_meant else "She"
        label = int(is_boy_first != is_boy_meant)
        for verb, place in product(("saw", "met", "called"), ("park", "lake", "farm")):
            text = f"{first} {verb} {second} at the {place}. {pronoun}"
            examples.append(Example(text, label, (pronoun, first)))
    return examples


def reasoning(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """Which of two places somebody leaves: where the one is whom he stood next to."""
    examples = []
    for _ in range(4 * n):
        first, second, third = rng.sample(GIRLS + BOYS, 3)
        here, there = rng.sample(STAYS, 2)
        label = rng.randrange(2)
        text = (
            f"{first} went to the {here}. {second} went to the {there}. "
            f"{third} stood next to {(first, second)[label]}. Then {third} left the"
        )
        examples.append(Example(text, label, third))
    return shuffled(list(dict.fromkeys(examples)), rng, n)


def topic(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """The article that a sentence is from, of at most 24 words; of each article as many."""
    train: list[Example] = []
    test: list[Example] = []
    articles = [SENTENCE.split(text) for text in load_corpus("wikipedia").test]
    long_enough = [[w for s in article if len(w := s.split()) >= 6] for article in articles]
    chosen = [article for article in long_enough if len(article) >= N_SENTENCES]
    for label, article in enumerate(chosen):
        some = rng.sample(article, min(n // len(chosen), N_SENTENCES))
        examples = [Example(" ".join(w[:24]), label, w[:24][-1]) for w in some]
        train += examples[len(some) // 4 :]
        test += examples[: len(some) // 4]
    return train, test


def meaning(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """The kind of a noun."""
    frames = ("They saw the", "There was a", "He spoke of the", "She remembered the", "It was the")
    examples = [
        Example(f"{frame} {word}", label, word)
        for label, words in enumerate(KINDS.values())
        for word, frame in product(words.split(), frames)
    ]
    return by_word(examples, rng, n)


def sentiment(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """Whether a review is kind."""
    drawn = Reviews(noise=0.0).sample(4 * n, seed=rng.randrange(2**31))
    texts = dict.fromkeys((review.text.rstrip("."), review.label) for review in drawn)
    examples = [Example(text, label, text.split()[-1]) for text, label in texts]
    return shuffled(examples, rng, n)


def arithmetic(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """Whether a sum is odd."""
    frames = ("{} and {} make", "{} plus {} is", "She had {} and found {}, which makes")
    examples = [
        Example(frame.format(NUMBERS[a - 1], NUMBERS[b - 1]), (a + b) % 2, (a, b))
        for a, b, frame in product(range(1, 10), range(1, 10), frames)
    ]
    return by_word(examples, rng, n)


def facts(rng: random.Random, n: int) -> tuple[list[Example], list[Example]]:
    """The continent of a country."""
    frames = ("They went to", "The people of", "He was born in", "The government of", "A city in")
    examples = [
        Example(f"{frame} {country}", label, country)
        for label, countries in enumerate(CONTINENTS.values())
        for country, frame in product(countries.split(), frames)
    ]
    return by_word(examples, rng, n)


TASKS: dict[str, Task] = {
    task.__name__.replace("_", " "): task
    for task in (
        *(syntax, syntax_of_new_nouns, coreference, coreference_of_new_names),
        *(meaning, topic, sentiment, reasoning, arithmetic, facts),
    )
}


def probe_task(
    checkpoint: Pretrained, model: Any, task: Task, n: int, seed: int
) -> dict[str, list[float]]:
    """Probe every layer; return accuracy and that of the control task, in percent, layer by layer.

    The chance that is returned beside them is what the commonest label of the test would reach.
    """
    train, test = task(random.Random(seed), n)
    examples = [*train, *test]
    texts = [checkpoint.read(example.text) for example in examples]
    last = -1 if checkpoint.kind == "gpt" else -2  # the token before [SEP]
    with torch.autocast("cpu", torch.bfloat16, enabled=checkpoint.name in PUBLISHED):
        vectors = layer_vectors(model, texts, [[len(ids) + last] for ids in texts])
    labels = torch.tensor([example.label for example in examples])
    words = [example.word for example in examples]
    found = [
        probe(
            layer,
            labels,
            words,
            n_train=len(train),
            generator=torch.Generator().manual_seed(seed),
        )
        for layer in vectors[:: step_of(model)]
    ]
    commonest = torch.bincount(labels[len(train) :]).max() / len(test)
    return {
        "accuracy": [100 * layer.accuracy for layer in found],
        "control": [100 * layer.control for layer in found],
        "chance": [100 * float(commonest)],
    }


def step_of(model: Any) -> int:
    """Return how many blocks lie between those that are probed; the input is probed, too."""
    n_blocks: int = model.config.n_layers
    steps = range(max(1, n_blocks // MOST_BLOCKS), n_blocks + 1)
    return next(step for step in steps if n_blocks % step == 0)


def links_to_names(checkpoint: Pretrained, story: Story) -> tuple[list[int], list]:
    """Return a story's ids, and for each pronoun or repeated name the places of the names before.

    Of a word of several tokens the last one looks, and any one is right.
    """
    ids = checkpoint.read(story.text)
    ends = [len(checkpoint.read(text)) for text in beginnings(story)]
    shift = 0 if checkpoint.kind == "gpt" else 1  # [SEP] ends every beginning
    spans = [range(a - shift, b - shift) for a, b in pairwise(ends)]
    hero = next(word for word in story.words if word in GIRLS + BOYS)
    links = []
    for at, slot in story.recalls:
        if slot in ("hero", *PRONOUNS) and spans[at]:  # what was cut off has no span
            right = [p for i in range(at) if story.words[i] == hero for p in spans[i]]
            links.append((spans[at].stop - 1, right))
    return ids, links


def beginnings(story: Story) -> Iterator[str]:
    """Yield the text before each word of a story, and all of it."""
    for n in range(len(story.words) + 1):
        yield Story(story.words[:n], (), 0).text


@torch.no_grad()
def antecedent(checkpoint: Pretrained, model: Any, seed: int) -> dict[str, list[float]]:
    """Choose the head that follows names best on half of the stories; return its share on the rest.

    The chance beside it is that of a place drawn at random from all that the word sees but itself.
    """
    stories = StoryGrammar().sample(N_STORIES, seed=1000 + seed)
    read = [links_to_names(checkpoint, story) for story in stories]
    with torch.autocast("cpu", torch.bfloat16, enabled=checkpoint.name in PUBLISHED):
        attention = [trace_of(model, ids).attention for ids, _ in read]
    links = [pairs for _, pairs in read]
    half = N_STORIES // 2
    chosen, rest = (
        heads_that_follow(attention[part], links[part]) for part in (slice(half), slice(half, None))
    )
    best = int(chosen.argmax())
    by_chance = [
        len(right) / (at if checkpoint.kind == "gpt" else len(ids) - 1)
        for ids, pairs in read[half:]
        for at, right in pairs
    ]
    return {
        "accuracy": [100 * float(rest.flatten()[best])],
        "head": [1 + best // rest.shape[1], 1 + best % rest.shape[1]],  # block, head in it
        "chance": [100 * statistics.mean(by_chance)],
    }


def measure(
    models: Sequence[str], n: int, runs: dict[str, Any], keep: Callable[[dict[str, Any]], object]
) -> None:
    """Make every run that is not there yet; each is kept as soon as it is made."""
    for name, is_pretrained in product(models, (True, False)):
        checkpoint = Pretrained(name)
        model = checkpoint.copy(is_pretrained=is_pretrained, dropout=0.0).eval()
        if name in PUBLISHED:
            in_bfloat16(model)
        title = name if is_pretrained else f"{name}, new weights"
        for task, seed in product((*TASKS, "antecedent"), SEEDS):
            key = f"{title}: {task}, seed {seed}"
            if key in runs:
                continue
            if task == "antecedent":
                runs[key] = antecedent(checkpoint, model, seed)
            else:
                runs[key] = probe_task(checkpoint, model, TASKS[task], n, seed)
            print(f"  {key}", file=sys.stderr, flush=True)
            keep(runs)


def figures(
    models: Sequence[str], runs: dict[str, Any], steps: dict[str, int] | None = None
) -> list[Figure]:
    """Return the mean over seeds at the input and after the last block; `runs` has the others."""
    lines = []
    for task, name in product((*TASKS, "antecedent"), models):
        for title in (name, f"{name}, new weights"):
            mine = [runs[f"{title}: {task}, seed {seed}"] for seed in SEEDS]
            means = {
                what: [statistics.mean(x) for x in zip(*(run[what] for run in mine), strict=True)]
                for what in ("accuracy", "control", "chance")
                if what in mine[0]
            }
            chance = f"chance {means['chance'][0]:.0f}"
            if task == "antecedent":
                subject = f"antecedent, {title}, best head ({chance})"
                lines.append(Figure(subject, means["accuracy"][0]))
                continue
            n_probed = len(means["accuracy"]) - 1
            for layer in (0, n_probed):
                where = f"block {layer * (steps or {}).get(name, 1)}" if layer else "input"
                control = f"control {means['control'][layer]:.0f}, {chance}"
                subject = f"{task}, {title}, {where} ({control})"
                lines.append(Figure(subject, means["accuracy"][layer]))
    return lines


def digest(model: torch.nn.Module) -> str:
    """Return what tells a model's weights from others."""
    found = sha256()
    for weight in model.parameters():
        found.update(weight.detach().numpy().tobytes())
    return found.hexdigest()[:16]


def main(arguments: Sequence[str] | None = None, models: Sequence[str] = MODELS) -> None:
    """Print what the probes reach and, on request, record it run by run."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n", type=int, default=320, help="examples of each task [320]")
    parser.add_argument("--model", action="append", help=f"[{' and '.join(models)}]")
    options = parser.parse_args(arguments)
    models = options.model or models
    weights, steps = {}, {}
    for name in models:
        model = Pretrained(name).model
        weights[name], steps[name] = digest(model), step_of(model)
    settings = {"n": options.n, "weights": weights, "seeds": list(SEEDS)}
    if max(steps.values()) > 1:
        settings["blocks_between"] = steps
    try:
        runs = begun(options.record, {"settings": settings}).get("runs", {})
    except ValueError as error:
        parser.error(str(error))

    command = " ".join(
        ["python -m benchmarks.chapters.probing", *(f"--model {m}" for m in options.model or ())]
    )

    def keep(so_far: dict[str, Any]) -> None:
        if options.record is not None:
            content = {
                "command": command,
                "settings": settings,
                "runs": so_far,
            }
            write_record(options.record, content)

    measure(models, options.n, runs, keep)
    report(
        figures(models, runs, steps),
        "Share of test texts of which a linear probe reads the label rightly, in percent, the mean "
        "of three seeds, from vectors of a layer",
        is_higher_better=True,
        module="benchmarks.chapters.probing",
        options=options,
        arguments=arguments,
        details={"settings": settings, "runs": runs},
        n_digits=1,
    )


if __name__ == "__main__":
    main()

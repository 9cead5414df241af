"""A new head on the shipped BERT, trained in the page on the reader's own labelled lines.

Chapter: fine-tuning.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import torch

from course_pkg.models.bert import BERT
from course_pkg.plots import Numbers
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.widgets.shipped import framed, megabytes
from course_pkg.widgets.widget import Widget

N_STEPS, LR, PENALTY = 300, 1.0, 0.02
"""Of gradient descent on the head's loss; the script computes the same."""


def head_trainer(
    name: str, *, examples: Mapping[str, Sequence[str]], text: str, alt: str
) -> Widget:
    """Let the reader write labelled lines of two classes, train a head on them, and judge a text.

    The model stays as it is and runs in the page; what is trained is one linear layer on the mean
    of its vectors. Naive Bayes learns from the same lines. Until the reader asks for it, the figure
    shows both for `examples` and `text`, computed here.

    Args:
        name: a BERT that ships, such as "bert-small".
        examples: the lines of each of two classes, at least one each.
        text: to be judged.

    Raises:
        ValueError: a model that is no BERT, not two classes, a class without a line, or a line
            without a token or longer than the context.
    """
    trained = load_pretrained(name)
    model, tokenizer = trained.model, trained.tokenizer
    if not isinstance(model, BERT):
        raise ValueError(f"name is {name!r}, a {trained.kind}; the head stands on a bert")
    if len(examples) != 2 or not all(examples.values()):
        counts = {label: len(lines) for label, lines in examples.items()}
        raise ValueError(f"examples has {counts}; it must have two classes with a line each")

    def vector(line: str) -> np.ndarray:
        with torch.no_grad():
            states = model.encode(torch.tensor([framed(trained, tokenizer.encode(line))]))
        return states[0].mean(dim=0).double().numpy()

    labels, groups = list(examples), [list(lines) for lines in examples.values()]
    lines = [line for group in groups for line in group]
    classes = [number for number, group in enumerate(groups) for _ in group]
    by_head = head_probability([vector(line) for line in lines], classes, vector(text))
    by_bayes, n_known = bayes_probability(groups, text)
    rows = [("text", text), *((label, line) for label, g in examples.items() for line in g)]
    rows += [
        ("new head", f"{labels[1]} {by_head:.3f}"),
        ("naive Bayes", f"{labels[1]} {by_bayes:.3f}"),
    ]
    return Widget(
        "lm-head-trainer",
        {
            "model": name,
            "megabytes": {name: megabytes(trained)},
            "labels": labels,
            "groups": groups,
            "text": text,
            "head": round(by_head, 5),
            "bayes": round(by_bayes, 5),
            "known": n_known,
            "settings": {"steps": N_STEPS, "lr": LR, "penalty": PENALTY},
        },
        alt,
        ("what", "text or probability"),
        rows,
        models=[name],
    )


def head_probability(vectors: Sequence[Numbers], classes: Sequence[int], asked: Numbers) -> float:
    """Return the probability of class 1 by logistic regression on centred, scaled vectors."""
    x, y = np.array(vectors, dtype=float), np.array(classes, dtype=float)
    middle = x.mean(axis=0)
    x = x - middle
    scale = math.sqrt((x**2).sum(axis=1).mean()) or 1.0
    x, weight, bias = x / scale, np.zeros(x.shape[1]), 0.0
    for _ in range(N_STEPS):
        error = (1 / (1 + np.exp(-(x @ weight + bias))) - y) / len(y)
        weight, bias = weight - LR * (error @ x + PENALTY * weight), bias - LR * error.sum()
    return float(1 / (1 + np.exp(-((np.asarray(asked) - middle) / scale @ weight + bias))))


def bayes_probability(groups: Sequence[Sequence[str]], text: str) -> tuple[float, int]:
    """Return the probability of class 1 by naive Bayes with add-one, and how many words count."""
    counts = [Counter(word for line in group for word in words_of(line)) for group in groups]
    known = set(counts[0]) | set(counts[1])
    words = [word for word in words_of(text) if word in known]
    totals = [sum(c.values()) + len(known) for c in counts]
    score = math.log(len(groups[1]) / len(groups[0]))
    for word in words:
        score += math.log((counts[1][word] + 1) / totals[1] * totals[0] / (counts[0][word] + 1))
    return 1 / (1 + math.exp(-score)), len(words)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return re.findall(r"\w+", text.lower())

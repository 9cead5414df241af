"""What can be read off a model's vectors and heads, by whom it was not taught.

A probe is a linear classifier on frozen vectors of one layer. A good score alone says little: with
enough width a probe learns any list of words by heart. So the same probe is also trained on a
control task, in which each word was given a label at random; what it does better on the real task
is its selectivity. A head follows an antecedent if its strongest weight from a pronoun lies there.
Chapter: what pretraining teaches. Alain & Bengio 2017; Hewitt & Liang 2019; Clark et al. 2019.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_pkg.common.checks import documents_of_ids, not_negative, whole_numbers
from course_pkg.layers.blocks import Trace
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT
from course_pkg.models.inference import inference
from course_pkg.models.loss import nats_per_target

_BATCH_SIZE = 32
"""Texts of one length that are read at once: a matter of memory, not of results."""


def trace_of(model: GPT | BERT, ids: Sequence[int]) -> Trace:
    """Return the hidden states and attention weights of one text, in evaluation mode.

    Args:
        ids: laid out as in pretraining, with what stands before and after a text.

    Raises:
        ValueError: what is not one list of ids.
    """
    return _trace(model, [ids])


def _trace(model: GPT | BERT, rows: Sequence[Sequence[int]]) -> Trace:
    documents_of_ids(rows, "text")
    trace = Trace()
    with inference(model) as device:
        model.encode(torch.tensor([list(row) for row in rows], device=device), trace=trace)
    return trace


def layer_vectors(
    model: GPT | BERT, texts: Sequence[Sequence[int]], places: Sequence[Sequence[int]]
) -> Float[Tensor, "L_1 N D"]:
    """Return the vectors of some tokens after the embedding and after each block.

    Args:
        texts: ids, laid out as in pretraining.
        places: of each text, the positions that are asked for; -1 is the last.

    Raises:
        ValueError: as many lists of places as texts are needed, and places inside the texts.
    """
    documents_of_ids(texts, "text")
    places = [list(asked) for asked in places]
    if len(texts) != len(places):
        raise ValueError(f"there are {len(texts)} texts and {len(places)} places; pair them")
    for number, (text, asked) in enumerate(zip(texts, places, strict=True)):
        _require_places(asked, len(text), f"text {number}", first=-len(text))
    vectors: list[Tensor] = [torch.empty(0)] * len(texts)
    by_length = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    for _, same in groupby(by_length, key=lambda number: len(texts[number])):
        numbers = list(same)
        for first in range(0, len(numbers), _BATCH_SIZE):
            some = numbers[first : first + _BATCH_SIZE]
            trace = _trace(model, [texts[number] for number in some])
            states = torch.stack(trace.hidden_states)  # (L + 1, B, T, D)
            for row, number in enumerate(some):
                vectors[number] = states[:, row, places[number]]
    return torch.cat(vectors, dim=1).cpu()


def _require_places(places: Iterable[int], n: int, where: str, *, first: int = 0) -> None:
    for place in places:
        if not first <= place < n:
            raise ValueError(f"place is {place}; {where} has {n} tokens, {first} to {n - 1}")


def control_labels(
    words: Sequence[Hashable],
    labels: Int[Tensor, " M"],
    generator: torch.Generator | None = None,
) -> Int[Tensor, " N"]:
    """Give each word a label at random, the same wherever it stands: Hewitt & Liang 2019, sec. 2.

    Labels are drawn with the shares that they have in the real task, so that a constant guess is
    worth as much.

    Args:
        words: what stands at each place.
        labels: of the real task.
        generator: source of randomness.

    Raises:
        ValueError: a word and a label at least are needed, and labels from 0.
    """
    _check_labels(labels)
    types = list(dict.fromkeys(words))
    if not types:
        raise ValueError("words is empty; there is nothing to label")
    shares = torch.bincount(labels).double()
    drawn = torch.multinomial(shares, len(types), replacement=True, generator=generator)
    label_of = dict(zip(types, drawn.tolist(), strict=True))
    return torch.tensor([label_of[word] for word in words])


def _check_labels(labels: Tensor, n_classes: int | None = None) -> None:
    """Refuse what is not a list of classes: -100 would be left out of the loss without a word."""
    if labels.dim() != 1 or labels.dtype.is_floating_point or labels.dtype == torch.bool:
        raise ValueError(
            f"labels has shape {tuple(labels.shape)} of {labels.dtype}; it must be a list of whole "
            "numbers"
        )
    if len(labels) == 0:
        raise ValueError("labels is empty; there is nothing to learn from")
    last = labels.max() if n_classes is None else n_classes - 1
    wrong = labels[(labels < 0) | (labels > last)]
    if len(wrong):
        rule = "at least 0" if n_classes is None else f"0 to {last}"
        raise ValueError(f"labels has {int(wrong[0])}; each must be {rule}")


def _check_vectors(vectors: Tensor) -> None:
    if vectors.dim() != 2:
        raise ValueError(
            f"vectors has shape {tuple(vectors.shape)}; it must be (places, width), of one layer"
        )
    if not bool(vectors.isfinite().all()):
        raise ValueError("vectors has a nan or an infinite number; nothing can be fitted to it")


def fit_probe(
    vectors: Float[Tensor, "N D"], labels: Int[Tensor, " N"], n_classes: int, *, decay: float = 1e-2
) -> tuple[Float[Tensor, "C D"], Float[Tensor, " C"]]:
    """Fit a linear softmax classifier; return its weights and biases.

    The loss, nats per label plus decay / 2 times the squared weights, has one minimum, which is
    found by L-BFGS. Vectors are scaled to unit variance first, so that one decay suits every layer;
    to centre them as well changes nothing but the number of steps.

    Raises:
        ValueError: as many vectors, without nan, as labels from 0 to n_classes - 1 are needed, and
            a positive, finite decay.
    """
    # On the CPU: float64 is what finds the minimum, and Apple's GPU has none.
    vectors, labels = torch.as_tensor(vectors).cpu(), torch.as_tensor(labels).cpu()
    whole_numbers(n_classes=n_classes)
    _check_labels(labels, n_classes)
    _check_vectors(vectors)
    if len(vectors) != len(labels):
        raise ValueError(f"there are {len(vectors)} vectors and {len(labels)} labels; pair them")
    not_negative(decay=decay)
    if decay == 0:
        raise ValueError(f"decay is {decay}; it must be positive, or words are learned by heart")
    x = vectors.double()
    centre, scale = x.mean(dim=0), x.std(unbiased=False).clamp(min=1e-12)
    x = (x - centre) / scale
    weight = torch.zeros(n_classes, x.shape[1], dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(n_classes, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [weight, bias], max_iter=100, tolerance_grad=1e-7, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nats_per_target(F.linear(x, weight, bias), labels)
        loss = loss + decay / 2 * weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)  # type: ignore[arg-type]
    weight = (weight / scale).detach()
    return weight, bias.detach() - weight @ centre


@dataclass(frozen=True)
class Probed:
    """How well a probe does, in shares of the test places.

    Attributes:
        accuracy: on the real task.
        control: on the control task.
    """

    accuracy: float
    control: float

    @property
    def selectivity(self) -> float:
        """What the vectors say beyond which word it is."""
        return self.accuracy - self.control


def probe(
    vectors: Float[Tensor, "N D"],
    labels: Int[Tensor, " N"],
    words: Sequence[Hashable],
    *,
    n_train: int,
    decay: float = 1e-2,
    generator: torch.Generator | None = None,
) -> Probed:
    """Probe for labels and for random ones; the first `n_train` places are learned from.

    Args:
        vectors: of one layer, from `layer_vectors`.
        labels: what is looked for, from 0.
        words: what stands at each place: it decides the control label.
        n_train: places to learn from; the others are scored.
        decay: as for `fit_probe`.
        generator: of the control task.

    Raises:
        ValueError: `n_train` that leaves nothing to learn from or to score; unless there is a label
            and a word for each vector; and what `fit_probe` refuses.
    """
    vectors, labels = torch.as_tensor(vectors), torch.as_tensor(labels)
    if not len(vectors) == len(labels) == len(words):
        raise ValueError(
            f"there are {len(vectors)} vectors, {len(labels)} labels and {len(words)} words; each "
            "place needs one of each"
        )
    _check_vectors(vectors)  # those that are scored, too
    whole_numbers(n_train=n_train)
    if not 0 < n_train < len(labels):
        raise ValueError(f"n_train is {n_train}; it must be 1 to {len(labels) - 1}")
    shares = []
    for target in (labels, control_labels(words, labels, generator)):
        weight, bias = fit_probe(
            vectors[:n_train], target[:n_train], int(target.max()) + 1, decay=decay
        )
        guesses = F.linear(vectors[n_train:].cpu().double(), weight, bias).argmax(dim=-1)
        shares.append(float((guesses == target[n_train:].cpu()).double().mean()))
    return Probed(*shares)


def heads_that_follow(
    attention: Sequence[Sequence[Float[Tensor, "1 H T T"]]],
    links: Sequence[Sequence[tuple[int, Sequence[int]]]],
) -> Float[Tensor, "L H"]:
    """Return how often each head looks hardest where it should: Clark et al. 2019, section 5.

    The token's own position is left out: many heads rest on it.

    Args:
        attention: for each text, the weights of each layer, from `trace_of`.
        links: for each text, pairs of a position that looks and all positions that are right, such
            as those of a pronoun and of its antecedents.

    Returns:
        the share of links for which the strongest weight lies on a right position.

    Raises:
        ValueError: no link, one to a position that the text has not, or one to no other position
            than its own; weights of several texts at once, or nan among them.
    """
    if len(attention) != len(links):
        raise ValueError(f"there are {len(attention)} texts and {len(links)} links; pair them")
    hits, n_links = torch.zeros(()), 0
    for layers, pairs in zip(attention, links, strict=True):
        _check_one_text(layers)
        weights = torch.cat(list(layers)).clone()  # (L, H, T, T)
        weights.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        strongest = weights.argmax(dim=-1)  # (L, H, T)
        for place, targets in pairs:
            right = list(targets)
            _require_places([place, *right], strongest.shape[-1], "the text")
            if not set(right) - {place}:
                raise ValueError(
                    f"a link from {place} goes to {right}; it needs another position than its own"
                )
            hits = hits + torch.isin(strongest[:, :, place], torch.tensor(right)).float()
            n_links += 1
    if n_links == 0:
        raise ValueError("links is empty; there is nothing to follow")
    return hits / n_links


def _check_one_text(layers: Sequence[Tensor]) -> None:
    """Refuse weights that would be taken for further layers, and those that nothing is above."""
    for weights in layers:
        if weights.dim() != 4 or len(weights) != 1:
            raise ValueError(
                f"attention has weights of shape {tuple(weights.shape)}; those of one text are "
                "(1, heads, positions, positions)"
            )
        if bool(weights.isnan().any()):
            raise ValueError("attention has nan; is a weight of the model nan or infinite?")

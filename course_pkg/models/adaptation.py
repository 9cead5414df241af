"""From a pretrained model to a task: heads, freezing, LoRA.

A pretrained GPT or BERT turns each token into a vector that knows its context. A task needs little
more than a linear layer on the right vector: the first for BERT, whose [CLS] next-sentence
prediction trains to stand for the whole input; the last real one for GPT, the only one that has
seen everything; or the mean of all. What else may move decides cost: nothing (a probe), everything
(full fine-tuning), or a thin layer beside each matrix (LoRA).

Chapter: fine-tuning. Radford et al. 2018; Devlin et al. 2019; Reimers and Gurevych 2019; Hu et al.
2022.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.common.checks import is_model, real_number, whole_numbers
from course_pkg.layers.attention import padding_mask
from course_pkg.layers.inputs import check_lengths, check_rows
from course_pkg.layers.low_bit import Head, refuse_few_bits
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT
from course_pkg.models.loss import count_tags, nats_per_label, nats_per_tag

Backbone = GPT | BERT

POOLINGS = ("summary", "mean")
"""Which vector stands for a text: the one that the backbone keeps for it, or the mean of all."""


class Features(nn.Module):
    """What a backbone says of a text: a vector for each token, or one for all.

    A frozen backbone gets no gradient and stays in evaluation mode: dropout inside it would change
    the features from step to step although its weights stand still.

    Args:
        backbone: a pretrained GPT or BERT.
        is_frozen: keep it as it is.
        pooling: what `of_text` returns: "summary" is the pooled [CLS] of a BERT, the last real
            token of a GPT; "mean" is the mean of the real tokens. Which is better depends on
            model and task: choose on validation data.

    Raises:
        ValueError: if the backbone is another model, pooling is not one of `POOLINGS`, or a frozen
            backbone has LoRA layers.
    """

    def __init__(
        self, backbone: Backbone, *, is_frozen: bool = False, pooling: str = "summary"
    ) -> None:
        super().__init__()
        if not isinstance(backbone, GPT | BERT):
            raise ValueError(
                f"backbone is {type(backbone).__name__}; it must be a GPT or a BERT, such as the "
                "model of what load_pretrained returns"
            )
        if pooling not in POOLINGS:
            raise ValueError(f"pooling is {pooling!r}; it must be one of {POOLINGS}")
        self.backbone, self.is_frozen, self.pooling = backbone, is_frozen, pooling
        self.d_model = backbone.config.d_model
        if is_frozen:
            if any(isinstance(module, LoRALinear) for module in backbone.modules()):
                raise ValueError(
                    "is_frozen is True, but the backbone has LoRA layers, which could then not "
                    "train; add_lora has frozen all else, so leave is_frozen False"
                )
            backbone.requires_grad_(False)

    def train(self, mode: bool = True) -> "Features":
        """Switch dropout on or off, but never inside a frozen backbone."""
        self.training = mode
        self.backbone.train(mode and not self.is_frozen)
        return self

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Return the vector of each token; what stands at padding means nothing.

        Raises:
            ValueError: if a GPT is given segments.
        """
        check_rows(ids)
        check_lengths(lengths, ids.shape)
        if isinstance(self.backbone, BERT):
            mask = padding_mask(lengths, ids.shape[1]).squeeze(1)
            return self.backbone.encode(ids, segments=segments, mask=mask)
        if segments is not None:
            raise ValueError("segments is given; a GPT has none, it separates texts by tokens")
        return self.backbone.encode(ids)  # padding comes last, and nobody looks ahead

    def of_text(
        self,
        ids: Int[Tensor, "B T"],
        lengths: Int[Tensor, " B"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> Float[Tensor, "B D"]:
        """Return one vector for each text, as `pooling` says."""
        states = self(ids, lengths, segments=segments)
        if self.pooling == "mean":
            is_real = padding_mask(lengths, ids.shape[1]).squeeze(1).unsqueeze(-1)
            return states.where(is_real, 0.0).sum(dim=1) / lengths.unsqueeze(1)
        if isinstance(self.backbone, BERT):
            return self.backbone.pool(states)
        rows = torch.arange(len(ids), device=ids.device)
        last: Tensor = states[rows, lengths - 1]
        return last


class TextClassifier(nn.Module):
    """One label for a text or a pair of texts.

    Args:
        backbone: a pretrained GPT or BERT.
        is_frozen: train only the new layer: a linear probe.
        pooling: as for `Features`.
        dropout: on the vector that enters the new layer.

    Example:
        >>> from course_pkg.models.bert import bert_tiny
        >>> probe = TextClassifier(BERT(bert_tiny(vocab_size=11)), n_classes=3, is_frozen=True)
        >>> sum(p.numel() for p in probe.parameters() if p.requires_grad)  # 64 * 3 + 3
        195
    """

    def __init__(
        self,
        backbone: Backbone,
        n_classes: int,
        *,
        is_frozen: bool = False,
        pooling: str = "summary",
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.features = Features(backbone, is_frozen=is_frozen, pooling=pooling)
        self.dropout = nn.Dropout(dropout)
        self.output = new_head(self.features.d_model, n_classes, generator)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        lengths: Int[Tensor, " B"],
        targets: Int[Tensor, " B"] | None = None,
        segments: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, ""] | None]:
        """Score the classes; the loss is in nats per text."""
        logits = self.output(self.dropout(self.features.of_text(ids, lengths, segments=segments)))
        return logits, None if targets is None else nats_per_label(logits, targets)


class TokenTagger(nn.Module):
    """One label for each token. Arguments as for `TextClassifier`; nothing is pooled."""

    n_targets = staticmethod(count_tags)

    def __init__(
        self,
        backbone: Backbone,
        n_tags: int,
        *,
        is_frozen: bool = False,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.features = Features(backbone, is_frozen=is_frozen)
        self.dropout = nn.Dropout(dropout)
        self.output = new_head(self.features.d_model, n_tags, generator)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        lengths: Int[Tensor, " B"],
        targets: Int[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "B T C"], Float[Tensor, ""] | None]:
        """Score the tags; the loss is in nats per real token whose target is not IGNORE."""
        logits = self.output(self.dropout(self.features(ids, lengths)))
        if targets is None:
            return logits, None
        return logits, nats_per_tag(logits, targets, lengths)


class MultipleChoice(nn.Module):
    """Choose among C candidates, each read together with the question: Radford et al. 2018, fig. 1.

    One linear layer gives each candidate a score; a softmax compares the candidates.
    Arguments as for `TextClassifier`.
    """

    def __init__(
        self,
        backbone: Backbone,
        *,
        is_frozen: bool = False,
        pooling: str = "summary",
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self.features = Features(backbone, is_frozen=is_frozen, pooling=pooling)
        self.dropout = nn.Dropout(dropout)
        self.output = new_head(self.features.d_model, 1, generator)

    def forward(
        self,
        ids: Int[Tensor, "B C T"],
        *,
        lengths: Int[Tensor, "B C"],
        targets: Int[Tensor, " B"] | None = None,
    ) -> tuple[Float[Tensor, "B C"], Float[Tensor, ""] | None]:
        """Score the candidates; the loss is in nats per question."""
        if ids.dim() != 3 or lengths.shape != ids.shape[:2]:
            raise ValueError(
                f"ids has shape {tuple(ids.shape)} and lengths {tuple(lengths.shape)}; they must "
                "be (questions, candidates, positions) and (questions, candidates)"
            )
        vectors = self.features.of_text(ids.flatten(0, 1), lengths.flatten())
        logits = self.output(self.dropout(vectors)).view(ids.shape[:2])
        return logits, None if targets is None else nats_per_label(logits, targets)


def new_head(d_model: int, n_outputs: int, generator: torch.Generator | None = None) -> nn.Linear:
    """Return the layer that a task adds, with weights as small as BERT's own at their start.

    Raises:
        ValueError: if n_outputs is below 1.
    """
    whole_numbers(n_outputs=n_outputs)
    head = Head(d_model, n_outputs)
    nn.init.normal_(head.weight, std=0.02, generator=generator)
    nn.init.zeros_(head.bias)
    return head


def add_tokens(model: GPT, n_tokens: int, generator: torch.Generator | None = None) -> list[int]:
    """Give a GPT embeddings for tokens that it was not pretrained with, in place; return their ids.

    What frames a task, such as the [START], [DELIM] and [EXTRACT] of `TaskFormat`,
    is learned with the task (Radford et al. 2018, section 3.2). A BERT has such tokens already.

    Raises:
        ValueError: if n_tokens is below 1, the model has LoRA at its output or a table of few bits.
    """
    whole_numbers(n_tokens=n_tokens)
    refuse_few_bits({"embedding": model.embedding})
    if isinstance(model.unembedding, LoRALinear):
        raise ValueError("unembedding has LoRA; add tokens first, or call merge_lora")
    first = model.vocab_size
    tables: list[nn.Embedding | nn.Linear] = [model.embedding]
    if model.unembedding is not None:
        tables.append(model.unembedding)
    for table in tables:
        rows = table.weight.new_empty(n_tokens, table.weight.shape[1])
        nn.init.normal_(rows, std=0.02, generator=generator)
        table.weight = nn.Parameter(
            torch.cat([table.weight.detach(), rows]), requires_grad=table.weight.requires_grad
        )
    model.embedding.num_embeddings = first + n_tokens
    if model.unembedding is not None:
        model.unembedding.out_features = first + n_tokens
    model.vocab_size = first + n_tokens
    model.config = replace(model.config, vocab_size=model.vocab_size)
    return list(range(first, model.vocab_size))


class LoRALinear(nn.Module):
    """Low-rank adaptation: beside a frozen layer a thin one, W x + b + (alpha / r) B A x.

    A is Gaussian and B zero, so that at first nothing has changed (Hu et al. 2022, section 4.1).
    The paper leaves A's spread open; ours is that of its authors' code, 1 / sqrt(3 I) for I inputs.
    """

    def __init__(
        self, linear: nn.Linear, rank: int, alpha: float, generator: torch.Generator | None = None
    ) -> None:
        super().__init__()
        _check_lora(linear, rank, alpha)
        self.linear = linear.requires_grad_(False)
        self.scale = alpha / rank
        weight = linear.weight
        self.down = nn.Parameter(weight.new_empty(rank, linear.in_features))  # A
        self.up = nn.Parameter(weight.new_zeros(linear.out_features, rank))  # B
        nn.init.normal_(self.down, std=(3 * linear.in_features) ** -0.5, generator=generator)

    def forward(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch O"]:
        """Apply both paths."""
        out: Tensor = self.linear(x) + self.scale * F.linear(F.linear(x, self.down), self.up)
        return out

    # Some code reads a layer's matrix instead of calling the layer: it finds what a linear layer
    # has, and gets the sum of both paths.
    @property
    def weight(self) -> Float[Tensor, "O I"]:
        """The matrix that both paths come to."""
        return self.linear.weight + self.scale * self.up @ self.down

    @property
    def bias(self) -> Float[Tensor, " O"] | None:
        """The frozen layer's."""
        return self.linear.bias

    @property
    def in_features(self) -> int:
        """Width of what enters."""
        return self.linear.in_features

    @property
    def out_features(self) -> int:
        """Width of what leaves."""
        return self.linear.out_features

    def merged(self, *, in_place: bool = True) -> nn.Linear:
        """Return one linear layer that computes the same.

        Args:
            in_place: change the frozen matrix; False gives the layer a new one, where another
                layer has the old one as well.
        """
        weight = self.weight.detach()
        if in_place:
            with torch.no_grad():
                self.linear.weight.copy_(weight)
        else:
            self.linear.weight = nn.Parameter(weight)
        return self.linear


def _check_lora(linear: nn.Linear, rank: int, alpha: float) -> None:
    whole_numbers(rank=rank)
    if not 0 < real_number("alpha", alpha) < math.inf:
        raise ValueError(f"alpha is {alpha}; it must be positive and finite")
    if rank > min(linear.in_features, linear.out_features):
        raise ValueError(
            f"rank is {rank}; for a layer from {linear.in_features} to "
            f"{linear.out_features} it must be 1 to the smaller of the two"
        )


def add_lora(
    model: nn.Module,
    rank: int = 8,
    alpha: float = 16.0,
    *,
    targets: str | Sequence[str] = ("attention.query", "attention.value"),
    generator: torch.Generator | None = None,
) -> list[nn.Parameter]:
    """Freeze what is pretrained, and put thin layers beside linear ones; return their parameters.

    It is done in place. Pretrained is the GPT or BERT in `model`, or all of it if there is none:
    the new head of a classifier stays as trainable as it is. Called again, for other layers, it
    leaves the thin ones that are there trainable.

    Args:
        targets: ends of the names of the layers to adapt; the default is that of Hu et al. 2022.

    Raises:
        ValueError: if a target names no linear layer of what is pretrained, or one adapted already;
            or if that is frozen for good, as `is_frozen` makes it. The model is then as it was.
    """
    is_model(model)
    targets = (targets,) if isinstance(targets, str) else tuple(targets or ())
    if not targets or "" in targets or not all(isinstance(target, str) for target in targets):
        raise ValueError(f"targets is {targets}; name the ends of the layers to adapt")
    if any(isinstance(module, Features) and module.is_frozen for module in model.modules()):
        raise ValueError(
            "is_frozen is True, so the thin layers could not train; make the model with is_frozen "
            "False: add_lora freezes what is pretrained"
        )
    parts: list[nn.Module] = [m for m in model.modules() if isinstance(m, GPT | BERT)]
    pretrained = parts or [model]
    is_theirs = {id(module) for part in pretrained for module in part.modules()}
    named = list(model.named_modules(remove_duplicate=False))
    adapted = {name for name, module in named if isinstance(module, LoRALinear)}
    refuse_few_bits({name: module for name, module in named if name.endswith(targets)})
    chosen = {
        name: module
        for name, module in named
        if isinstance(module, nn.Linear)
        and id(module) in is_theirs
        and name
        and name.endswith(targets)
        and name.rpartition(".")[0] not in adapted
    }
    for target in targets:
        if not any(name.endswith(target) for name in chosen):
            has_it = any(name.endswith(target) for name in adapted)
            reason = "has LoRA already" if has_it else "no linear layer of the model ends so"
            raise ValueError(f"targets has {target!r}; {reason}")
    for linear in chosen.values():
        _check_lora(linear, rank, alpha)

    thin = [p for _, m in named if isinstance(m, LoRALinear) for p in (m.down, m.up)]
    for part in pretrained:
        part.requires_grad_(False)
    for parameter in thin:
        parameter.requires_grad_(True)
    made: dict[int, LoRALinear] = {}
    for linear in chosen.values():
        if id(linear) not in made:
            made[id(linear)] = LoRALinear(linear, rank, alpha, generator)
    for name, module in named:  # under all its names, where a layer has several
        if id(module) in made:
            model.set_submodule(name, made[id(module)])
    return [parameter for layer in made.values() for parameter in (layer.down, layer.up)]


def merge_lora(model: nn.Module) -> None:
    """Fold every thin layer into the matrix beside it, in place: no cost is left at inference.

    Everything trains again afterwards. A matrix that served another layer too, such as a tied
    embedding, is left to that layer: they differ from then on.

    Raises:
        ValueError: if the model has no thin layer, or is one itself: call its `merged`.
    """
    if isinstance(model, LoRALinear):
        raise ValueError("model is a LoRALinear itself; call its merged(), which returns the layer")
    named = list(model.named_modules(remove_duplicate=False))
    if not any(isinstance(module, LoRALinear) for _, module in named):
        raise ValueError("model has no LoRA layer; there is nothing to merge")
    holders = Counter(
        id(parameter)
        for module in {id(module): module for _, module in named}.values()
        for parameter in module.parameters(recurse=False)
    )
    merged: dict[int, nn.Linear] = {}
    for name, module in named:
        if isinstance(module, LoRALinear):
            if id(module) not in merged:
                is_alone = holders[id(module.linear.weight)] == 1
                merged[id(module)] = module.merged(in_place=is_alone)
            model.set_submodule(name, merged[id(module)])
    model.requires_grad_(True)

"""Where the heads of the shipped models look in the reader's own sentence.

Chapters: self-attention, models that come with the course.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_pkg.layers.blocks import Trace
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT
from course_pkg.weights.model_folders import TrainedModel
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.widgets.shipped import framed, megabytes
from course_pkg.widgets.widget import Widget, show_whitespace

MASKS = ("causal", "full")


def attention_explorer(
    models: str | Sequence[str],
    *,
    text: str,
    alt: str,
    layer: int = 1,
    head: int = 1,
    selected: int = 0,
) -> Widget:
    """Let the reader type a sentence and see, by layer and head, where each token attends.

    The weights are computed in the page, by the shipped model, under its own mask or the other
    one. Until the reader asks for the model, the figure shows `text`, computed here.

    Args:
        models: "gpt-small", "bert-small" or both; the first is shown first, under its own mask.
        text: a short sentence for the resting state.
        layer: chosen in the resting state, counted from 1, as is `head`.
        head: one of the model's heads.
        selected: the token of `text` that is chosen in the resting state, counted from 0.

    Raises:
        ValueError: an unknown model, or a layer, head or token that the model or the text lacks.
    """
    names = [models] if isinstance(models, str) else list(models)
    if not names:
        raise ValueError("models is empty; name at least one that ships")
    trained = {name: load_pretrained(name) for name in names}
    own_masks = {name: MASKS[0 if model.kind == "gpt" else 1] for name, model in trained.items()}
    views = {
        (name, mask): _attention(model, text, mask)
        for name, model in trained.items()
        for mask in MASKS
    }
    tokens, weights = views[names[0], own_masks[names[0]]]
    for what, value, first, last in (
        ("layer", layer, 1, weights.shape[0]),
        ("head", head, 1, weights.shape[1]),
        ("selected", selected, 0, len(tokens) - 1),
    ):
        if not first <= value <= last:
            raise ValueError(f"{what} is {value}; it must lie between {first} and {last}")
    return Widget(
        "lm-attention",
        {
            "models": names,
            "masks": own_masks,
            "megabytes": {name: megabytes(model) for name, model in trained.items()},
            "text": text,
            "views": [
                {"model": name, "mask": mask, "tokens": tokens}
                | {"weights": (100 * weights).round().int().tolist()}
                for (name, mask), (tokens, weights) in views.items()
            ],
            "layer": layer,
            "head": head,
            "selected": selected,
        },
        alt,
        ("token", f"attends most to (layer {layer}, head {head})", "weight"),
        [
            (show_whitespace(token), show_whitespace(tokens[row.argmax()]), f"{row.max():.2f}")
            for token, row in zip(tokens, weights[layer - 1, head - 1], strict=True)
        ],
        models=names,
    )


def _attention(
    trained: TrainedModel, text: str, mask: str
) -> tuple[list[str], Float[Tensor, "L H T T"]]:
    """Return the tokens of a text and each head's weights on it, under a mask."""
    model, tokenizer = trained.model, trained.tokenizer
    assert isinstance(model, GPT | BERT)
    ids = tokenizer.encode(text)
    if isinstance(model, BERT):
        ids = framed(trained, ids)
    if not 0 < len(ids) <= model.context_length:
        raise ValueError(f"text has {len(ids)} tokens; it must have 1 to {model.context_length}")
    model.stack.is_causal = mask == MASKS[0]
    trace = Trace()
    with torch.no_grad():
        model.encode(torch.tensor([ids]), trace=trace)
    return [tokenizer.tokens[i] for i in ids], torch.cat(trace.attention)

"""A transformer to open layer by layer, with the reader's own sizes.

Chapter: the transformer.
"""

from collections.abc import Mapping
from dataclasses import asdict

from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer import EncoderDecoder, count_parameters
from course_pkg.widgets.widget import Widget

Transformer = GPT | BERT | EncoderDecoder
_KINDS = {GPT: "decoder", BERT: "encoder", EncoderDecoder: "encoder–decoder"}


def transformer_sizes(models: Mapping[str, Transformer], *, selected: str, alt: str) -> Widget:
    """Let the reader open a transformer part by part and change its sizes.

    The page counts parameters itself, from a structure; the models say which structures to offer,
    and what the counts must be. Models on torch's meta device take no memory.

    Args:
        models: published ones by name; a BERT without its pretraining heads.
        selected: the one that is open in the resting state.

    Raises:
        ValueError: `selected` is not among the models, or a model has what the page cannot show.

    Example:
        >>> from course_pkg import GPT, gpt_tiny
        >>> model = GPT(gpt_tiny(vocab_size=11))
        >>> transformer_sizes({"tiny": model}, selected="tiny", alt="A tiny GPT.").rows
        [('tiny', 'decoder', '2', '64', '4', '104,896')]
    """
    if selected not in models:
        raise ValueError(f"selected is {selected!r}; it must be one of {[*models]}")
    presets, rows = {}, []
    for name, model in models.items():
        kind = next((kind for of, kind in _KINDS.items() if isinstance(model, of)), None)
        if kind is None:
            raise ValueError(
                f"{name!r} is {type(model).__name__}; it must be a GPT, a BERT or an EncoderDecoder"
            )
        if isinstance(model, BERT) and model.token_head is not None:
            raise ValueError(
                f"{name!r} has the heads of pretraining, which the page does not count; make the "
                "BERT with has_heads=False"
            )
        config = model.config
        shown = config.block in ("pre_norm", "post_norm")
        if not shown or config.shares_layers or config.has_qk_norm:
            raise ValueError(
                f"{name!r} has block {config.block!r}, shared layers or query norms; "
                "the page shows pre- and post-norm blocks without them"
            )
        n_parameters = count_parameters(model)
        presets[name] = {
            **asdict(config),
            "n_kv_heads": config.n_kv_heads or config.n_heads,
            "kind": kind,
            "n_segments": model.segment_embedding.num_embeddings if isinstance(model, BERT) else 0,
            "n_parameters": n_parameters,
        }
        sizes = (config.n_layers, config.d_model, config.n_heads, n_parameters)
        rows.append((name, kind, *(f"{size:,}" for size in sizes)))
    return Widget(
        "lm-transformer",
        {"presets": presets, "preset": selected},
        alt,
        ("model", "shape", "layers", "d_model", "heads", "parameters"),
        rows,
    )

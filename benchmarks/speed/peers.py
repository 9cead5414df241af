"""The package beside the libraries that people use otherwise: one table of ratios.

    python -m benchmarks.speed.peers [--only gpt lstm ...] [--device cpu] [--record FILE [--add]]

Ratios below 1 say that ours takes less time. Peers that are not installed are named and left out;
KenLM's are three programs on the PATH (see `kenlm_programs.py`). With COURSE_DATA=DIR the texts are
WikiText-2 and the Penn Treebank, and else the package's own.
"""

import argparse
import importlib.util
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn

from benchmarks.records import add_record_option, provenance
from benchmarks.speed.kernel_gpt import KernelGPT
from benchmarks.speed.peers_attention import attention
from benchmarks.speed.peers_text import kenlm, ngrams, tokenization
from benchmarks.speed.side_by_side import Ratio, compare, record, table
from course_pkg.decoding.generation import FixedGenerator, generate
from course_pkg.models.gpt import GPT, gpt2_small, gpt_small_cpu, gpt_small_gpu
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.training.optim import clip_global_norm

Contest = Callable[[torch.device, int], Iterator[Ratio]]
N_REPEATED = 10


def gpt(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """One update of a GPT: forward, backward, clip, AdamW; nanoGPT's recipes for characters."""
    is_gpu, V = device.type == "cuda", 65
    config = gpt_small_gpu(V, 256) if is_gpu else gpt_small_cpu(V, 64)
    batch_size = 64 if is_gpu else 12
    ids = torch.randint(config.vocab_size, (batch_size, config.context_length + 1), device=device)
    text, targets = ids[:, :-1], ids[:, 1:]

    own = GPT(config).to(device)
    ours = _adam_update(own, lambda: own(text, targets)[1])
    sizes = (config.d_model, config.n_heads, config.n_layers)
    plain = KernelGPT(config.vocab_size, config.context_length, *sizes).to(device)
    subject = f"GPT update, {config.n_layers} x {config.d_model}, {batch_size} x {len(text[0])}"
    yield compare(
        subject,
        "plain torch (nanoGPT's layout)",
        ours,
        _adam_update(plain, lambda: plain(text, targets)),
        aim=1.0,
        n_rounds=n_rounds,
        device=device,
    )
    if not _is_here("transformers", subject):
        return
    from transformers import GPT2Config, GPT2LMHeadModel

    theirs = GPT2LMHeadModel(_gpt2_config(GPT2Config, config)).to(device)
    yield compare(
        subject,
        "transformers",
        ours,
        _adam_update(theirs, lambda: theirs(text, labels=text).loss),
        aim=0.9,
        n_rounds=n_rounds,
        device=device,
    )


@dataclass(frozen=True)
class Pretraining:
    """At which size the contest is held; a rehearsal's says nothing, and may run on a CPU."""

    vocab_size: int = 50_304  # 50,257 tokens, padded so that 64 divides them
    context_length: int = 1024
    batch_size: int = 12
    changes: Mapping[str, Any] = field(default_factory=dict)  # of the structure
    is_rehearsal: bool = False


PRETRAINING = Pretraining()


def pretraining(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """One update of GPT-2's smallest size as it is pretrained: bfloat16, compiled. GPU only."""
    if device.type != "cuda" and not PRETRAINING.is_rehearsal:
        print("pretraining: left out, it takes a GPU", file=sys.stderr)
        return
    V, T, B = PRETRAINING.vocab_size, PRETRAINING.context_length, PRETRAINING.batch_size
    config = replace(
        gpt2_small(), vocab_size=V, context_length=T, activation="gelu", has_bias=False
    )
    config = replace(config, **PRETRAINING.changes)
    own = GPT(config).to(device)
    plain = KernelGPT(V, T, config.d_model, config.n_heads, config.n_layers).to(device)
    ids = torch.randint(V, (B, T + 1), device=device)
    text, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
    own_compiled, plain_compiled = torch.compile(own), torch.compile(plain)

    def own_loss() -> torch.Tensor:
        with torch.autocast(device.type, torch.bfloat16):
            return own_compiled(text, targets)[1]

    def plain_loss() -> torch.Tensor:
        with torch.autocast(device.type, torch.bfloat16):
            return plain_compiled(text, targets)

    ratio = compare(
        f"GPT-2 124M, {N_REPEATED} updates, {B} x {T}, bfloat16, compiled",
        "plain torch (nanoGPT's layout), compiled",
        _repeated(_adam_update(own, own_loss)),
        _repeated(_adam_update(plain, plain_loss)),
        aim=1 / 1.05,
        n_rounds=n_rounds,
        device=device,
    )
    n_tokens = N_REPEATED * B * T
    print(f"{1000 * n_tokens / ratio.ours:,.0f} tokens a second", file=sys.stderr)
    yield ratio


def _repeated(update: Callable[[], None]) -> Callable[[], None]:
    """Do several in a row: the CPU runs ahead of the GPU, as it does in training."""

    def updates() -> None:
        for _ in range(N_REPEATED):
            update()

    return updates


def _adam_update(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> Callable[[], None]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss_of().backward()
        clip_global_norm(model.parameters(), 1.0)
        optimizer.step()

    return step


def _gpt2_config(kind: type, config: TransformerConfig) -> object:
    return kind(
        vocab_size=config.vocab_size,
        n_positions=config.context_length,
        n_embd=config.d_model,
        n_head=config.n_heads,
        n_layer=config.n_layers,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=0,
        eos_token_id=0,
    )


def lstm(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """One update of an LSTM language model of Zaremba's small size."""
    V, width, n_layers, T, B = 10_000, 200, 2, 20, 20
    ids = torch.randint(V, (B, T + 1), device=device)

    class Library(nn.Module):
        """The same model by `nn.LSTM`."""

        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(V, width)
            self.lstm = nn.LSTM(width, width, n_layers, batch_first=True)
            self.output = nn.Linear(width, V)

        def forward(self, ids: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
            logits = self.output(self.lstm(self.embedding(ids))[0])
            return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    def update(model: nn.Module, loss_of: Callable[[], torch.Tensor]) -> Callable[[], None]:
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

        def step() -> None:
            optimizer.zero_grad(set_to_none=True)
            loss_of().backward()
            clip_global_norm(model.parameters(), 5.0)
            optimizer.step()

        return step

    library = Library().to(device)
    theirs = update(library, lambda: library(ids[:, :-1], ids[:, 1:]))
    # Against the GPU's single kernel a loop over time has no chance: there is nothing to aim at.
    of_loop = None if device.type == "cuda" else 1.2
    for name, fused, aim in (("library kernel", True, 1.02), ("readable cell", False, of_loop)):
        model = RecurrentLM(V, width, width, n_layers, fused=fused).to(device)
        ours = update(model, lambda model=model: model(ids[:, :-1], ids[:, 1:])[1])
        subject = f"LSTM update, {name}, {n_layers} x {width}, {B} x {T}"
        yield compare(subject, "nn.LSTM", ours, theirs, aim=aim, n_rounds=n_rounds, device=device)


def generation(device: torch.device, n_rounds: int) -> Iterator[Ratio]:
    """Continue a prompt greedily: with a cache beside transformers', and beside our own without."""
    config = gpt2_small()
    n_prompt, n_new = 256, 32
    model = GPT(config).to(device).eval()
    prompt = torch.randint(config.vocab_size, (1, n_prompt), device=device)

    def ours(use_cache: bool) -> Callable[[], torch.Tensor]:
        return lambda: generate(model, prompt, n_new, temperature=0, use_cache=use_cache)

    subject = f"GPT-2 small, {n_new} tokens after {n_prompt}, cached"
    if _is_here("transformers", subject):
        yield compare(
            subject,
            "transformers",
            ours(True),
            _by_transformers(config, prompt, n_new),
            aim=1.0,
            n_rounds=n_rounds,
            device=device,
        )
    fixed = FixedGenerator(model, 1, n_prompt + n_new, compile=device.type == "cuda")
    yield compare(
        f"GPT-2 small, {n_new} tokens after {n_prompt}, cache of fixed size",
        "ours, growing cache",
        lambda: fixed(prompt, temperature=0),
        ours(True),
        n_rounds=n_rounds,
        device=device,
    )
    yield compare(
        subject,
        "ours without a cache",
        ours(True),
        ours(False),
        aim=1 / 8,
        n_rounds=min(n_rounds, 3),  # half a minute each on a CPU
        device=device,
    )


def _by_transformers(
    config: TransformerConfig, prompt: torch.Tensor, n_new: int
) -> Callable[[], None]:
    from transformers import DynamicCache, GPT2Config, GPT2LMHeadModel
    from transformers.utils import logging

    logging.set_verbosity_error()
    theirs = GPT2LMHeadModel(_gpt2_config(GPT2Config, config)).to(prompt.device).eval()

    def library() -> None:
        theirs.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=n_new,
            min_new_tokens=n_new,
            do_sample=False,
            past_key_values=DynamicCache(),
        )

    return library


def _is_here(package: str, subject: str) -> bool:
    if importlib.util.find_spec(package) is not None:
        return True
    print(f"{subject}: left out beside {package}, which is not installed", file=sys.stderr)
    return False


CONTESTS: dict[str, Contest] = {
    "gpt": gpt,
    "pretraining": pretraining,
    "lstm": lstm,
    "generation": generation,
    "attention": attention,
    "tokenization": tokenization,
    "ngrams": ngrams,
    "kenlm": kenlm,
}
_NEEDS = {"ngrams": "nltk"}


def main(arguments: Sequence[str] | None = None) -> list[Ratio]:
    """Run the contests and print one table; return its rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", choices=list(CONTESTS), default=list(CONTESTS))
    parser.add_argument("--device", default="cpu", help="cpu or cuda [cpu]")
    parser.add_argument("--rounds", type=int, default=9, help="ratios for each row at least [9]")
    add_record_option(parser, __file__)
    parser.add_argument("--add", action="store_true", help="keep the record's other rows")
    options = parser.parse_args(arguments)
    if options.rounds < 2:
        parser.error(f"--rounds is {options.rounds}; a spread needs at least 2")
    device = torch.device(options.device)
    words = sys.argv[1:] if arguments is None else arguments
    about = provenance(shlex.join(["python", "-m", "benchmarks.speed.peers", *words]), device)
    older: list[Ratio] = []
    if options.record and options.add and options.record.exists():
        found = json.loads(options.record.read_text(encoding="utf-8"))["ratios"]
        older = [Ratio(**row) for row in found]
    torch.manual_seed(0)
    ratios: list[Ratio] = []
    for name in options.only:
        peer = _NEEDS.get(name)
        if peer is not None and importlib.util.find_spec(peer) is None:
            print(f"{name}: left out, {peer} is not installed", file=sys.stderr)
            continue
        for ratio in CONTESTS[name](device, options.rounds):
            print(f"{ratio.ratio:6.2f}  {ratio.subject}, beside {ratio.peer}", file=sys.stderr)
            ratios.append(ratio)
            if options.record and options.add:  # a GPU day may cut this off at any time
                record(options.record, _joined(older, ratios), about)
    print(table(ratios))
    if options.record:
        record(options.record, _joined(older, ratios), about)
    return ratios


def _joined(older: Sequence[Ratio], ratios: Sequence[Ratio]) -> list[Ratio]:
    """Return the rows that were measured anew after the others."""
    now = {(ratio.subject, ratio.peer) for ratio in ratios}
    return [*(row for row in older if (row.subject, row.peer) not in now), *ratios]


if __name__ == "__main__":
    main()

"""A published model in our code: how fast, how large, and what each rounding costs.

  COURSE_DATA=DIR python -m benchmarks.weights.published_speed [--record FILE]

Needs `make published`. Times are CPU times of one thread, ours and theirs in turns, for greedy text
after a prompt that was read before; llama.cpp is timed where `llama-cpp-python` is installed. With
DIR, which must have wikitext2/, bits a byte are measured as well: of each precision, and with
activations rounded to eight bits, which is another matter than to round weights.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.papers.published import command_line
from benchmarks.records import provenance, write_record
from benchmarks.speed.side_by_side import Ratio, compare, table
from course_pkg.decoding.streaming import Streamer, prompt_lookup
from course_pkg.text.corpora.running_text import load_corpus
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.weights.published import PRECISIONS, PublishedModel, load_published, published_path
from course_pkg.weights.published_files import read_gguf

PROMPT = "The capital of France is Paris, and it is known for its"
N_TOKENS = 16
LONG_PROMPT = 256
N_SCORED = 512
REPEATING = "".join(
    f"{day}: open from 9 to 17, closed at noon\n" for day in ("Monday", "Tuesday", "Wednesday")
)

_MEMORY = """
import gc, torch
def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before = held()
from course_pkg.chat import Chat
from course_pkg.weights.published import load_published
talk = Chat(load_published(precision="blocks"), n_tokens=16, temperature=0)
for text in ("What is the capital of Italy?", "And of Spain?"):
    print("".join(talk.answer(text)).replace(chr(10), " "))
gc.collect()
print((held() - before) / 1e6)
"""


def writes(
    loaded: PublishedModel, prompt: str, n_tokens: int, draft: Any = None
) -> Callable[[], Streamer]:
    """Return work: to write after a prompt, greedily; but for the first time, it was read."""
    ids = loaded.tokenizer.encode(prompt)
    streamer = Streamer(loaded.model)  # type: ignore[arg-type]

    def work() -> Streamer:
        streamer.n_tokens = streamer.n_passes = 0
        for _ in streamer.stream(ids, n_tokens, temperature=0, draft=draft):
            pass
        return streamer

    return work


def reads(loaded: PublishedModel, n_tokens: int) -> Callable[[], object]:
    """Return work: to read a long prompt."""
    ids = torch.arange(n_tokens)[None] % 1000 + 100
    model: Any = loaded.model

    @torch.no_grad()
    def work() -> object:
        return model.next_log_probs(ids, cache=model.new_cache())

    return work


def transformers_writes(loaded: PublishedModel, prompt: str, n_tokens: int) -> Callable[[], object]:
    """Return the same work by `transformers`, with our float32 weights under its names."""
    from transformers.models.llama import LlamaConfig, LlamaForCausalLM

    ours: Any = loaded.model
    c = ours.config
    theirs = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=c.vocab_size,
            hidden_size=c.d_model,
            intermediate_size=c.d_ff,
            num_hidden_layers=c.n_layers,
            num_attention_heads=c.n_heads,
            num_key_value_heads=c.n_kv_heads,
            max_position_embeddings=c.context_length,
            rms_norm_eps=1e-5,
            rope_parameters={"rope_type": "default", "rope_theta": c.rotary_base},
            tie_word_embeddings=True,
        )
    ).eval()
    theirs.load_state_dict({_theirs(n): w for n, w in ours.state_dict().items()}, strict=False)
    ids = torch.tensor([loaded.tokenizer.encode(prompt)])
    with torch.no_grad():
        past = theirs(ids[:, :-1], use_cache=True).past_key_values

    @torch.no_grad()
    def work() -> list[int]:
        if (surplus := past.get_seq_length() - ids.shape[1] + 1) > 0:
            past.crop(-surplus)
        found, step = [], ids[:, -1:]
        for _ in range(n_tokens):
            out = theirs(step, past_key_values=past, use_cache=True, logits_to_keep=1)
            step = out.logits[:, -1].argmax(-1, keepdim=True)
            found.append(int(step))
        return found

    return work


def _theirs(name: str) -> str:
    rules = {
        r"^embedding\.": "model.embed_tokens.",
        r"^stack\.final_norm\.": "model.norm.",
        r"^stack\.blocks\.": "model.layers.",
        r"\.norms\.0\.": ".input_layernorm.",
        r"\.norms\.1\.": ".post_attention_layernorm.",
        r"\.attention\.query\.": ".self_attn.q_proj.",
        r"\.attention\.key\.": ".self_attn.k_proj.",
        r"\.attention\.value\.": ".self_attn.v_proj.",
        r"\.attention\.output\.": ".self_attn.o_proj.",
        r"\.feed_forward\.expand\.": ".mlp.gate_proj.",
        r"\.feed_forward\.gate\.": ".mlp.up_proj.",
        r"\.feed_forward\.contract\.": ".mlp.down_proj.",
    }
    for pattern, replacement in rules.items():
        name = re.sub(pattern, replacement, name)
    return name


def llama_cpp_writes(path: Path, prompt: str, n_tokens: int) -> Callable[[], object] | None:
    """Return the same work by llama.cpp on the file itself; None where it is not installed."""
    try:
        from llama_cpp import Llama
    except ModuleNotFoundError:
        return None
    theirs = Llama(model_path=str(path), n_threads=1, n_threads_batch=1, n_ctx=512, verbose=False)

    def work() -> object:  # it, too, keeps what it has read of a prompt
        return theirs(prompt, max_tokens=n_tokens, temperature=0.0)

    return work


@torch.no_grad()
def bits(model: nn.Module, ids: Tensor, n_bytes: int) -> float:
    """Return bits a byte of the tokens after the first."""
    logits, _ = model(ids[None, :-1])
    nats = F.cross_entropy(logits[0].float(), ids[1:], reduction="sum")
    return float(nats) / math.log(2) / n_bytes


def rounded(x: Tensor, n_values: int | None) -> Tensor:
    """Round activations to eight bits, so many values sharing a scale; None for all of them."""
    groups = x.reshape(1, -1) if n_values is None else x.reshape(-1, n_values)
    scale = groups.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
    return ((groups / scale).round() * scale).reshape(x.shape)


def activation_bits(model: Any, ids: Tensor, n_bytes: int) -> dict[str, float]:
    """Return bits a byte with the inputs of all linear layers in eight bits, by what shares one."""
    found = {}
    for name in ("tensor", "token", "block of 32"):

        def enter(layer: nn.Module, args: tuple[Tensor], name: str = name) -> tuple[Tensor]:
            width = {"tensor": None, "token": args[0].shape[-1]}.get(name, 32)
            return (rounded(args[0], width),)

        layers = [m for m in model.modules() if isinstance(m, nn.Linear)]
        handles = [layer.register_forward_pre_hook(enter) for layer in layers]
        found[name] = bits(model, ids, n_bytes)
        for handle in handles:
            handle.remove()
    return found


def scored_text(tokenizer: Any) -> tuple[Tensor, int] | None:
    """Return the first tokens of WikiText-2's test text and the bytes of all but the first."""
    try:
        documents = load_corpus("wikitext2", source="local").test
    except SourceUnavailableError as error:
        print(f"No bits a byte: {error}")
        return None
    ids = tokenizer.encode("\n".join(documents)[: 8 * N_SCORED])[:N_SCORED]
    return torch.tensor(ids), len(tokenizer.decode(ids[1:]).encode())


def chat_memory() -> dict[str, Any]:
    """Return what a chat holds beyond `import torch`, in a process of its own (Linux)."""
    run = subprocess.run(
        [sys.executable, "-c", _MEMORY],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    *answers, held = run.stdout.splitlines()
    return {"answers": answers, "megabytes": round(float(held))}


def ratios(models: dict[str, PublishedModel], n_rounds: int) -> list[Ratio]:
    """Time everything, in turns."""
    exact, few = models["float32"], models["blocks"]
    text = f"{N_TOKENS} tokens after a prompt"
    time = partial(compare, n_rounds=n_rounds)
    mine = {name: writes(loaded, PROMPT, N_TOKENS) for name, loaded in models.items()}
    theirs = transformers_writes(exact, PROMPT, N_TOKENS)
    found = [
        time(f"{text}, float32", "transformers, float32", mine["float32"], theirs, aim=1.0),
        time(f"{text}, bfloat16", "ours, float32", mine["bfloat16"], mine["float32"]),
        time(f"{text}, int8", "ours, float32", mine["int8"], mine["float32"], aim=1 / 1.9),
        time(f"{text}, blocks", "ours, float32", mine["blocks"], mine["float32"], aim=1 / 3),
    ]
    cpp = llama_cpp_writes(published_path("smollm2-135m"), PROMPT, N_TOKENS)
    if cpp is None:
        print("llama.cpp is left out: llama-cpp-python is not installed")
    else:
        found.append(time(f"{text}, blocks", "llama.cpp", mine["blocks"], cpp, aim=1 / 0.6))
    for name in ("blocks", "int8"):
        subject = f"a prompt of {LONG_PROMPT}, {name}"
        own, other = reads(models[name], LONG_PROMPT), reads(exact, LONG_PROMPT)
        found.append(time(subject, "ours, float32", own, other, aim=1.0, n_rounds=3))
    for name, loaded in (("blocks", few), ("bfloat16", models["bfloat16"])):
        guessing = writes(loaded, REPEATING, 48, prompt_lookup)
        plain = writes(loaded, REPEATING, 48)
        subject = f"48 tokens of a list that repeats, {name}, by prompt lookup"
        found.append(time(subject, "the same without", guessing, plain, aim=1 / 1.5, n_rounds=3))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the ratios, sizes and costs and, on request, record them."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--rounds", type=int, default=7, help="of each comparison [%(default)s]")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        read_gguf(published_path("smollm2-135m"))
    except ModuleNotFoundError as error:
        sys.exit(f"Not run: {error}")
    models = {precision: load_published(precision=precision) for precision in PRECISIONS}
    found = ratios(models, options.rounds)
    print(table(found))
    guessed = writes(models["blocks"], REPEATING, 48, prompt_lookup)()
    details: dict[str, Any] = {
        "tokens_a_pass_by_prompt_lookup": guessed.n_tokens / guessed.n_passes,
        "chat_beyond_import_torch": chat_memory(),
    }
    if (scored := scored_text(models["float32"].tokenizer)) is not None:
        details["scored"] = f"first {N_SCORED} tokens of WikiText-2's test text"
        details["bits_a_byte"] = {name: bits(m.model, *scored) for name, m in models.items()}
        details["bits_a_byte_with_activations_in_8_bits_by"] = activation_bits(
            models["float32"].model, *scored
        )
    print(json.dumps(details, indent=2))
    if options.record is not None:
        given = sys.argv[1:] if arguments is None else arguments
        command = shlex.join(
            ["python", "-m", "benchmarks.weights.published_speed", *map(str, given)]
        )
        about = provenance(command, torch.device("cpu"))
        write_record(options.record, {**about, "ratios": [asdict(r) for r in found], **details})


if __name__ == "__main__":
    main()

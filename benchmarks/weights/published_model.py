"""What a published model adds to our small one: the same beginnings, the same questions.

  python -m benchmarks.weights.published_model [--record FILE]

Needs `make published`. Greedy, in float32: there is one answer, and none is chosen. And why eight
bits with one scale for all activations cost it so much: how large the largest input of each block's
last layer is, beside the others of a Wikipedia article (Sun et al. 2024, "massive activations").
And bits a byte of the running table's texts: a quarter of an hour of one core. Every row is written
when it comes in, and a record that was begun is gone on with.
"""

import sys
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.records import Recording, command_line
from course_pkg.decoding.generation import generate
from course_pkg.evaluation.likelihood import count_bytes, evaluate
from course_pkg.models.transformer import count_parameters
from course_pkg.text.corpora import load_corpus
from course_pkg.weights.model_folders import TrainedModel
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.weights.published import PUBLISHED, load_published

NAME = "smollm2-135m"
PROMPT = "One day, the king"
N_TOKENS = 40
N_READ = 512
CONTEXT = 1024
LADDERS = ("wikipedia", "stories", "tales")
CAPITALS = (
    "France Paris, England London, Germany Berlin, Italy Rome, Spain Madrid, Russia Moscow, "
    "Japan Tokyo, Egypt Cairo, Canada Ottawa, Kenya Nairobi, Poland Warsaw, Norway Oslo"
)


def goes_on(loaded: TrainedModel, prompt: str, n_tokens: int, first: Sequence[int]) -> str:
    """Return what a model writes after a prompt, greedily.

    Args:
        first: ids that stand before every text of the model's training.
    """
    model: Any = loaded.model
    ids = torch.tensor([[*first, *loaded.tokenizer.encode(prompt)]])
    out = generate(model, ids, n_tokens, temperature=0, stop_id=loaded.tokenizer.eos_id)
    return loaded.tokenizer.decode(out[0, ids.shape[1] :].tolist())


def first_guesses(loaded: TrainedModel, first: Sequence[int]) -> dict[str, str]:
    """Return the first word that a model writes after "The capital of ... is", by country."""
    countries = [pair.split()[0] for pair in CAPITALS.split(", ")]
    return {
        country: (goes_on(loaded, f"The capital of {country} is", 4, first).split() or [""])[0]
        for country in countries
    }


@torch.no_grad()
def largest_inputs(model: Any, ids: Sequence[int]) -> list[dict[str, float]]:
    """Return, by block, the largest input of its last layer as a multiple of the root mean square.

    Returns:
        `times_rms`, and the `position` of its token.
    """
    found: list[dict[str, float]] = []

    def note(layer: torch.nn.Module, inputs: tuple[torch.Tensor]) -> None:
        (sizes,) = inputs[0].abs()
        largest = sizes.amax(dim=1)
        times = float(sizes.max() / sizes.square().mean().sqrt())
        found.append({"times_rms": round(times, 1), "position": int(largest.argmax())})

    hooks = [
        block.feed_forward.contract.register_forward_pre_hook(note) for block in model.stack.blocks
    ]
    model.encode(torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    return found


def row_of(loaded: TrainedModel, texts: Sequence[str]) -> dict[str, float | int | None]:
    """Return what a model's row of the running table says of some texts, each read by itself."""
    model: Any = loaded.model
    tokenizer, context = loaded.tokenizer, min(CONTEXT, model.context_length)
    documents = [tokenizer.encode(text) for text in texts]
    found = evaluate(
        model,
        documents,
        count_bytes(texts),
        eos_id=tokenizer.eos_id,
        batch_size=1,  # 49,152 scores a token are much
        context_length=context,
        stride=context,  # windows that do not overlap: the first tokens of each see little
    )
    return {
        "test_perplexity": found.perplexity,
        "bits_per_byte": found.bits_per_byte,
        "n_tokens": found.n_tokens,
        "n_parameters": count_parameters(model),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what both write and, on request, record it."""
    recording = Recording(command_line(__doc__, __file__), arguments)
    torch.set_num_threads(1)
    settings = {"prompt": PROMPT, "context": CONTEXT, "weights_sha256": PUBLISHED[NAME].sha256}
    recording.begin({}, same=settings)
    kept = recording.content
    try:
        real = load_published(NAME)
    except ModuleNotFoundError as error:
        sys.exit(f"Not run: {error}")

    def keep(**found: Any) -> None:
        kept.update(found)
        print(found, flush=True)
        recording.save(indent=2)

    if "largest_inputs" not in kept:
        own = load_pretrained("gpt-small")
        models = {"gpt-small": (own, [own.tokenizer.eos_id]), NAME: (real, [])}
        article = real.tokenizer.encode(load_corpus("wikipedia").valid[0])[:N_READ]
        keep(
            texts={name: goes_on(m, PROMPT, N_TOKENS, eos) for name, (m, eos) in models.items()},
            capitals=dict(pair.split() for pair in CAPITALS.split(", ")),
            guesses={name: first_guesses(m, eos) for name, (m, eos) in models.items()},
            largest_inputs=largest_inputs(real.model, article),
        )
    for corpus in LADDERS:
        if corpus not in kept.get("ladder", {}):
            row = row_of(real, load_corpus(corpus).test)
            keep(ladder={**kept.get("ladder", {}), corpus: row})


if __name__ == "__main__":
    main()

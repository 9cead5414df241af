"""What a published model adds to our small one: the same beginnings, the same questions.

  python -m benchmarks.weights.published_model [--record FILE]

Needs `make published`. Greedy, in float32: there is one answer, and none is chosen.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import torch

from benchmarks.records import add_record_option, provenance, write_record
from course_pkg.decoding.generation import generate
from course_pkg.weights.model_folders import TrainedModel
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.weights.published import load_published

PROMPT = "One day, the king"
N_TOKENS = 40
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what both write and, on request, record it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_record_option(parser, __file__)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    try:
        real = load_published()
    except ModuleNotFoundError as error:
        sys.exit(f"Not run: {error}")
    own = load_pretrained("gpt-small")
    models = {"gpt-small": (own, [own.tokenizer.eos_id]), "smollm2-135m": (real, [])}
    details: dict[str, Any] = {
        "prompt": PROMPT,
        "texts": {name: goes_on(m, PROMPT, N_TOKENS, eos) for name, (m, eos) in models.items()},
        "capitals": dict(pair.split() for pair in CAPITALS.split(", ")),
        "guesses": {name: first_guesses(m, eos) for name, (m, eos) in models.items()},
    }
    for name, text in details["texts"].items():
        print(f"{name}: {PROMPT}{text}\n{details['guesses'][name]}\n")
    if options.record is not None:
        given = sys.argv[1:] if arguments is None else arguments
        command = shlex.join(
            ["python", "-m", "benchmarks.weights.published_model", *map(str, given)]
        )
        write_record(options.record, {**provenance(command, torch.device("cpu")), **details})


if __name__ == "__main__":
    main()

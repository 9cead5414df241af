"""What temperature, top-k and top-p leave of a model's next-token distribution.

    COURSE_DATA=DIR python -m benchmarks.chapters.decoding --model gpt-small [--record FILE]

At every place of held-out paragraphs of TinyStories the model's distribution is changed as a
sampler would change it. Reported are how many tokens keep more than one chance in a thousand
(geometric mean over places), the entropy in nats, and how often the true token can no longer be
drawn at all: what truncation pays, in rare words, for its safety (Holtzman et al. 2020). DIR must
have tinystories/.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from benchmarks.chapters.backbones import Pretrained
from benchmarks.papers.published import Figure, command_line, or_exit, report
from course_pkg.decoding.samplers import next_token_probs
from course_pkg.text.batches import next_token_rows
from course_pkg.text.corpora import load_corpus

N_PARAGRAPHS = 100
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "temperature 0.7": {"temperature": 0.7},
    "temperature 1.3": {"temperature": 1.3},
    "top-k 40": {"top_k": 40},
    "top-p 0.95": {"top_p": 0.95},
    "top-p 0.9": {"top_p": 0.9},
    "temperature 0.8, top-k 50": {"temperature": 0.8, "top_k": 50},
}


@torch.no_grad()
def predictions(model: Pretrained, texts: Sequence[str], device: str) -> tuple[Tensor, Tensor]:
    """Return the log-probabilities at every place of some texts, and the true tokens there."""
    network = model.model.to(device).eval()
    log_probs, targets = [], []
    for text in texts:
        batch = next_token_rows([model.encode(text)[: model.context_length - 1]], model.eos_id)
        log_probs.append(network(batch["ids"].to(device))[0][0].log_softmax(dim=-1).cpu())
        targets.append(batch["targets"][0])
    return torch.cat(log_probs), torch.cat(targets)


def describe(log_probs: Tensor, targets: Tensor, setting: dict[str, Any]) -> dict[str, float]:
    """Return what a setting leaves: candidates, entropy, and the share of true tokens cut off."""
    probs = next_token_probs(log_probs, **setting)
    n_candidates = (probs > 1e-3).sum(dim=-1).double()
    true = probs.gather(1, targets.unsqueeze(1))
    return {
        "n_candidates": float(n_candidates.log().mean().exp()),
        "entropy_nats": float(-torch.xlogy(probs, probs).sum(dim=-1).mean()),
        "percent_of_true_tokens_cut_off": 100 * float((true == 0).double().mean()),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what each setting leaves and, on request, record it."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--model", required=True, help="gpt-small or a folder: a GPT")
    options = parser.parse_args(arguments)
    with or_exit():
        texts = load_corpus("tinystories_excerpt", source="local").test[:N_PARAGRAPHS]
    log_probs, targets = predictions(Pretrained(options.model), texts, options.device)
    found = {name: describe(log_probs, targets, setting) for name, setting in SETTINGS.items()}
    for name, row in found.items():
        print(f"{name:28}", *(f"{key} {value:.2f};" for key, value in row.items()))
    report(
        [Figure(name, row["entropy_nats"]) for name, row in found.items()],
        "Entropy of what is sampled from, in nats per token.",
        is_higher_better=True,
        module="benchmarks.chapters.decoding",
        options=options,
        arguments=arguments,
        details={"settings": found, "n_tokens": len(targets)},
    )


if __name__ == "__main__":
    main()

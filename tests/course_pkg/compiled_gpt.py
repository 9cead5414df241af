"""Compares compiled with plain: run by a test, alone, since shape checks do not compile.

    python -m tests.course_pkg.compiled_gpt cpu

Prints a JSON object: the largest differences, and whether the generated texts are equal.
"""

import json
import sys

import torch

from course_pkg.decoding.generation import FixedGenerator, generate
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer_config import TransformerConfig


def main(device: str) -> None:
    """Train one step and generate, compiled and not."""
    torch.set_num_threads(1)
    config = TransformerConfig(
        vocab_size=11, context_length=13, d_model=12, n_heads=3, n_layers=2, d_ff=20
    )
    model = GPT(config, generator=torch.Generator().manual_seed(17)).to(device)
    for weight in model.parameters():  # so large that the likeliest token is never in doubt
        torch.nn.init.normal_(weight, std=0.4)
    ids = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(3)).to(device)
    results = []
    for forward in (model, torch.compile(model)):
        model.zero_grad()
        logits, loss = forward(ids[:, :-1], ids[:, 1:])
        loss.backward()
        results.append([logits, loss, *(weight.grad for weight in model.parameters())])
    pairs = zip(*results, strict=True)
    differences = [float((a - b).detach().abs().max()) for a, b in pairs]
    prompts = ids[:, :3]
    fast = FixedGenerator(model, len(ids), config.context_length, compile=True)
    texts = [fast(prompts, temperature=0).tolist() for _ in range(2)]  # recorded, then replayed
    plain = generate(model, prompts, config.context_length - 3, temperature=0).tolist()
    print(json.dumps({"largest": max(differences), "texts_equal": texts == [plain, plain]}))


if __name__ == "__main__":
    main(sys.argv[1])

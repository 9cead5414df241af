"""Score the shipped GPT on the texts of the book's running table.

    COURSE_DATA=DIR python -m benchmarks.weights.pretrained_rows [--record FILE]

The test parts are those of the chapters: generated stories, articles of Wikipedia, and tales, which
are read from DIR. Two minutes of one core. To be run again whenever other weights ship.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import count_bytes, evaluate
from course_pkg.models.transformer import count_parameters
from course_pkg.text.corpora import load_corpus
from course_pkg.weights.pretrained import SHIPPED, load_pretrained

NAME, CORPORA = "gpt-small", ("stories", "wikipedia", "tales")


def digest(name: str = NAME) -> str:
    """Return the sha256 of the weights that ship by that name."""
    return hashlib.sha256((SHIPPED / name / "model.safetensors").read_bytes()).hexdigest()


def measure() -> dict[str, Any]:
    """Return perplexity per token and bits per byte on each test text."""
    trained, rows = load_pretrained(NAME), {}
    tokenizer = trained.tokenizer
    for name in CORPORA:
        texts = load_corpus(name).test
        documents = [tokenizer.encode(text) for text in texts]
        found = evaluate(trained.model, documents, count_bytes(texts), eos_id=tokenizer.eos_id)
        rows[name] = {
            "test_perplexity": found.perplexity,
            "bits_per_byte": found.bits_per_byte,
            "n_tokens": found.n_tokens,
        }
        print(f"{name}: {found.bits_per_byte:.4f} bits per byte", flush=True)
    return {
        "what": "the shipped GPT on the test texts of the running table",
        "weights_sha256": digest(),
        "n_parameters": count_parameters(trained.model),
        "rows": rows,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and, on request, record."""
    recording = Recording(command_line(__doc__, __file__), arguments)
    recording.begin({})
    recording.finish(measure())


if __name__ == "__main__":
    main()

"""Run every model of the book on one text of known entropy, each against the one before.

    python benchmarks/chapters/ladder.py [--n-steps 700] [--device cpu] [--record FILE]

Every model reads the same stories and is measured in the same way. The floor is the perplexity that
no model can beat, computed from the grammar; what separates a model from it is what its kind of
memory cannot hold: five words, eight words, one vector, every word so far.
"""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as a script, too

from benchmarks.records import Recording, command_line
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models import LanguageModel
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.ngram import NGram
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.window import FixedWindowLM
from course_pkg.text.batches import example_batches, next_token_rows
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.tokenizers import WordTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig

N_TRAIN, N_TEST = 6000, 300
BATCH_SIZE = 32

Documents = list[list[int]]


def tokenized_stories() -> tuple[WordTokenizer, Documents, Documents, float]:
    """Return a tokenizer, training and test stories as ids, and the floor perplexity."""
    grammar = StoryGrammar()
    train = [story.text for story in grammar.sample(N_TRAIN, seed=1)]
    test = [story.text for story in grammar.sample(N_TEST, seed=2)]
    tokenizer = WordTokenizer.train(train)
    ids = ([tokenizer.encode(text) for text in texts] for texts in (train, test))
    return tokenizer, *ids, grammar.floor_perplexity()


def neural_models(vocab_size: int, eos_id: int, seed: int = 0) -> dict[str, torch.nn.Module]:
    """Return one model of each kind, all small."""
    generator = torch.Generator().manual_seed(seed)
    return {
        "fixed window of 8": FixedWindowLM(
            vocab_size, 8, 32, 128, eos_id=eos_id, generator=generator
        ),
        "LSTM, 128 units": RecurrentLM(vocab_size, 48, 128, generator=generator),
        "GPT, 2 layers of 64": GPT(gpt_tiny(vocab_size, 256), generator=generator),
    }


def train(
    model: torch.nn.Module, documents: Documents, eos_id: int, n_steps: int, device: str
) -> None:
    """Train a model on whole stories, batched by length."""
    batches = example_batches(
        documents,
        lambda rows, generator: next_token_rows(rows, eos_id),
        BATCH_SIZE,
        seed=0,
        lengths=[len(document) for document in documents],
    )
    config = TrainerConfig(
        n_steps=n_steps,
        lr=2e-3 if isinstance(model, GPT) else 4e-3,
        n_warmup=n_steps // 14,
        log_every=n_steps,
        checkpoint_every=n_steps,
    )
    Trainer(model, batches, config, device=device, show_progress=sys.stderr.isatty()).train()
    model.eval()


def run(
    n_steps: int, device: str = "cpu", report: Callable[[str, float, float], None] | None = None
) -> tuple[float, dict[str, float]]:
    """Train every model; return the floor and the test perplexity of each."""
    tokenizer, train_ids, test_ids, floor = tokenized_stories()
    perplexities: dict[str, float] = {}

    def measure(name: str, model: LanguageModel, started: float) -> None:
        perplexities[name] = evaluate(model, test_ids, eos_id=tokenizer.eos_id).perplexity
        if report is not None:
            report(name, perplexities[name], time.process_time() - started)

    for order in (3, 5):
        started = time.process_time()
        counted = NGram.fit(train_ids, order, tokenizer.vocab_size, tokenizer.eos_id)
        measure(f"{order}-gram, modified Kneser–Ney", counted, started)
    for name, model in neural_models(tokenizer.vocab_size, tokenizer.eos_id).items():
        started = time.process_time()
        train(model, train_ids, tokenizer.eos_id, n_steps, device)
        measure(name, model, started)
    return floor, perplexities


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table and, on request, record it."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n-steps", type=int, default=700, help="updates of each neural model")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    recording = Recording(parser, arguments)
    recording.begin({"what": "test perplexity on generated stories of known entropy"})
    n_steps = recording.options.n_steps

    print(f"{'model':32} {'perplexity':>10} {'CPU seconds':>12}")
    floor, perplexities = run(
        n_steps,
        recording.options.device,
        lambda name, value, seconds: print(f"{name:32} {value:10.3f} {seconds:12.1f}", flush=True),
    )
    print(f"{'floor: the entropy of the text':32} {floor:10.3f}")
    recording.finish({"floor": floor, "perplexity": perplexities, "n_steps": n_steps})


if __name__ == "__main__":
    main()

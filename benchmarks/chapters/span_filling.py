"""An encoder-decoder fills gaps: spans of a story shrink to sentinels, and are told in order.

    python -m benchmarks.chapters.span_filling [--n-steps 600] [--device cpu] [--record FILE]

A tiny encoder-decoder learns T5's objective (Raffel et al. 2020) on generated stories: 15 % of the
words are hidden in spans of three on average. On held-out stories it writes the spans, which are
put back where they belong. Reported are the share of hidden words that come back right, the share
of spans, and, for comparison, what the most frequent word of all would score. Much can be restored
because stories repeat themselves; moods and weather cannot, so a perfect model stays below 100 too.
"""

import math
import sys
from collections import Counter
from collections.abc import Sequence

import torch

from benchmarks.chapters.ladder import Documents, tokenized_stories
from benchmarks.papers.published import Figure, command_line, report
from course_pkg.decoding.beam_search import greedy_search
from course_pkg.models.transformer import EncoderDecoder, transformer_tiny
from course_pkg.text.batches import Batch, example_batches, translation_rows
from course_pkg.text.batches.masking import fill_sentinels, random_spans, spans_to_sentinels
from course_pkg.training.trainer import Trainer, TrainerConfig

CONTEXT, BATCH_SIZE, N_SENTINELS, LONGEST = 192, 32, 24, 60

Pair = tuple[list[int], list[int]]


class Gaps:
    """Stories with gaps: sentinels are the ids behind the vocabulary."""

    def __init__(self, vocab_size: int, eos_id: int) -> None:
        self.eos_id = eos_id
        self.sentinel_ids = list(range(vocab_size, vocab_size + N_SENTINELS))
        self.vocab_size = vocab_size + N_SENTINELS

    def make(self, story: list[int], generator: torch.Generator) -> Pair:
        """Return a story with gaps, and what was in them."""
        return spans_to_sentinels(story, random_spans(len(story), generator), self.sentinel_ids)

    def batch(self, stories: Documents, generator: torch.Generator) -> Batch:
        """Make gaps anew each time a story comes."""
        return translation_rows([self.make(story, generator) for story in stories], self.eos_id)

    def spans(self, told: Sequence[int]) -> dict[int, list[int]]:
        """Return what was told for each sentinel: a text that is nothing but this gap, filled."""
        return {
            sentinel: fill_sentinels([sentinel], told, self.sentinel_ids)
            for sentinel in self.sentinel_ids
            if sentinel in told
        }


@torch.no_grad()
def fill(model: EncoderDecoder, gaps: Gaps, pairs: Sequence[Pair], device: str) -> list[list[int]]:
    """Let a model tell what is in the gaps; return the spans with their sentinels."""
    model.eval()
    told: list[list[int]] = []
    for first in range(0, len(pairs), 2 * BATCH_SIZE):
        batch = translation_rows(pairs[first : first + 2 * BATCH_SIZE], gaps.eos_id)
        batch = {name: rows.to(device) for name, rows in batch.items()}
        found = greedy_search(
            model.start(batch["source_ids"], batch["source_lengths"]),
            batch["ids"][:, 0],
            eos_id=gaps.eos_id,
            max_length=LONGEST,
        )
        told += [[i for i in hypothesis.ids if i != gaps.eos_id] for hypothesis in found]
    return told


def score(gaps: Gaps, pairs: Sequence[Pair], told: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return the shares, in percent, of hidden words and of spans that were told rightly."""
    n_words = n_right = n_spans = n_whole = 0
    for (_, hidden), guess in zip(pairs, told, strict=True):
        guessed = gaps.spans(guess)
        for sentinel, words in gaps.spans(hidden).items():
            if not words:  # the last sentinel says that no span follows
                continue
            answer = guessed.get(sentinel, [])
            n_words += len(words)
            n_right += sum(a == w for a, w in zip(answer, words, strict=False))
            n_spans += 1
            n_whole += answer == words
    return 100 * n_right / n_words, 100 * n_whole / n_spans


def train(model: EncoderDecoder, gaps: Gaps, stories: Documents, n_steps: int, device: str) -> None:
    """Train on gaps that are drawn anew for each batch."""
    batches = example_batches(
        stories, gaps.batch, BATCH_SIZE, seed=0, lengths=[len(story) for story in stories]
    )
    config = TrainerConfig(
        n_steps=n_steps,
        lr=2e-3,
        n_warmup=n_steps // 10,
        fused=True,
        log_every=n_steps,
        checkpoint_every=n_steps,
        spike_factor=math.inf,  # what is hidden is now easy, now hard
    )
    Trainer(model, batches, config, device=device, show_progress=sys.stderr.isatty()).train()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what the model restores and, on request, record it."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("--n-steps", type=int, default=600, help="updates of the model [600]")
    options = parser.parse_args(arguments)
    tokenizer, stories, held_out, _ = tokenized_stories()
    gaps = Gaps(tokenizer.vocab_size, tokenizer.eos_id)
    generator = torch.Generator().manual_seed(0)
    model = EncoderDecoder(transformer_tiny(gaps.vocab_size, CONTEXT), generator=generator)
    train(model, gaps, stories, options.n_steps, options.device)
    asked = torch.Generator().manual_seed(1)
    pairs = [gaps.make(story, asked) for story in held_out]
    words, spans = score(gaps, pairs, fill(model, gaps, pairs, options.device))
    counts = Counter(word for story in stories for word in story)
    frequent = counts.most_common(1)[0][0]
    constant = [[i if i in gaps.sentinel_ids else frequent for i in hidden] for _, hidden in pairs]
    report(
        [
            Figure("hidden words", words),
            Figure("hidden spans, whole", spans),
            Figure(
                "hidden words, if the most frequent one is always told",
                score(gaps, pairs, constant)[0],
            ),
        ],
        f"Share restored, in percent, after {options.n_steps} updates.",
        is_higher_better=True,
        module="benchmarks.chapters.span_filling",
        options=options,
        arguments=arguments,
        details={"n_steps": options.n_steps, "n_stories": len(pairs)},
    )


if __name__ == "__main__":
    main()

"""What counting and an LSTM write where gpt-small and SmolLM2 do: one prompt, greedily.

    COURSE_DATA=DIR python -m benchmarks.chapters.same_prompt [--record FILE]

Both read what gpt-small has read, in its byte pairs: the 5-grams count all of it once, the LSTM of
width 256 reads a third, in 32 parallel streams, by truncated backpropagation. The prompt and the
number of tokens are those of `benchmarks.weights.published_model`. DIR must have what gpt-small has
read (see `benchmarks.weights.pretraining`). Some ten minutes of one core.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.records import Recording, command_line
from benchmarks.weights.pretraining_text import Text, bits_of, counted, prepare_text
from benchmarks.weights.published_model import N_TOKENS, PROMPT, goes_on
from course_pkg.models.recurrent import RecurrentLM, TruncatedBPTT
from course_pkg.models.transformer import count_parameters
from course_pkg.text.batches import stream_batches
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import TrainedModel
from course_pkg.weights.pretrained import load_pretrained

RUN = Path("runs/pretraining-controls/text")
WIDTH, LENGTH, BATCH_SIZE, LR, DROPOUT = 256, 35, 32, 3e-3, 0.0
SHARE = 3
"""One of so many parts of an epoch is read."""


def trained_lstm(text: Text) -> RecurrentLM:
    """Train an LSTM whose embeddings are its output weights, too."""
    model = RecurrentLM(
        text.tokenizer.vocab_size,
        WIDTH,
        WIDTH,
        dropout=DROPOUT,
        is_tied=True,
        generator=torch.Generator().manual_seed(0),
    )
    batches = stream_batches(text.ids, LENGTH, BATCH_SIZE, marks_start=True)
    log_every = max(1, len(batches) // (10 * SHARE))
    n_steps = 10 * log_every
    config = TrainerConfig(
        n_steps=n_steps,
        lr=LR,
        n_warmup=n_steps // 20,
        precision="bfloat16",
        fused=True,
        log_every=log_every,
        checkpoint_every=n_steps,
    )
    learner = TruncatedBPTT(model, BATCH_SIZE)
    for entry in Trainer(learner, batches, config).train():
        print(entry, flush=True)
    return model.eval()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print what both write and, on request, record it."""
    recording = Recording(command_line(__doc__, __file__), arguments)
    torch.set_num_threads(1)
    recording.begin({"prompt": PROMPT})
    own: Any = load_pretrained("gpt-small")
    text = prepare_text(RUN, own.tokenizer.vocab_size, own.tokenizer, "quarter")
    lstm = trained_lstm(text)
    found = {}
    for name, kind, model in (("5-gram", "ngram", counted(text)), ("LSTM", "lstm", lstm)):
        loaded = TrainedModel(kind, model, own.tokenizer, card="")
        written = goes_on(loaded, PROMPT, N_TOKENS, [own.tokenizer.eos_id])
        bits = bits_of(model, text.held_out, own.tokenizer.eos_id)[1]
        found[name] = {"text": written, "held_out_bits_per_byte": bits}
        print(name, found[name], flush=True)
    recording.finish({"models": found, "lstm_parameters": count_parameters(lstm)})


if __name__ == "__main__":
    main()

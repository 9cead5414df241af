"""Measure transformers for the chapter of that name: what each part is worth, and two real texts.

    python -m benchmarks.chapters.transformer arms|text|stories|recipe|wikipedia|tales [--record R]

`arms` trains small models on Wikipedia by the character, each different from another in one choice.
Each has its own learning rate, found on validation text by moving outwards until the best one has
a worse one on either side, and three seeds at that rate. Validation losses come with the CPU
seconds of training that they took, so that the LSTM can be compared at equal loss. A run that was
broken off goes on with the first arm that its record lacks; a new one needs a new file. `text`
gives the LSTM and the transformer with rotary positions the same text, in several amounts.
`stories` asks in the same way what initial weights and the recipe are worth to the chapter's own
model, and `recipe` what the whole recipe is worth in the 500 updates of the chapter on training.
`wikipedia` does by words what `benchmarks.chapters.recurrent` does with an LSTM. `tales` reads byte
pairs of fairy tales and old children's books once, beside a 5-gram of the same text.
"""

import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.chapters.recurrent import Documents, Words, mix, mixture_weight
from benchmarks.records import Recording, command_line
from course_pkg.decoding.generation import generate
from course_pkg.evaluation.likelihood import bits_per_byte, count_bytes, evaluate, token_log_probs
from course_pkg.layers.blocks import Block
from course_pkg.models import LanguageModel
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.ngram import NGram
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.transformer import count_parameters
from course_pkg.models.transformer_config import TransformerConfig, config_norm
from course_pkg.text.batches import (
    example_batches,
    next_token_rows,
    pack_documents,
    window_batches,
)
from course_pkg.text.corpora import Corpus, load_corpus
from course_pkg.text.tokenizers import (
    UNK,
    BytePairTokenizer,
    CharTokenizer,
    FastBytePairTokenizer,
    WordTokenizer,
)
from course_pkg.text.tokenizers.unknown_word_cost import UnknownWordCost
from course_pkg.training.trainer import BatchSource, Trainer, TrainerConfig, TrainingDivergedError

LENGTH, BATCH_SIZE, N_STEPS, SEEDS = 64, 16, 400, (0, 1, 2)
RATES = (4e-4, 1e-3, 2.5e-3, 6e-3, 1.5e-2, 4e-2, 1e-1, 2.5e-1)
TEXTS = (160, 400, 1000)
"""Numbers of updates, and so of characters, after which two models are compared on equal text."""

FIRST_RATE = 3
"""Where the search for a rate begins, among `RATES`: about 2.5 apart."""

WIDTH = 64
"""Of the models that learn stories."""
PLAIN = {
    "optimizer": "adam",
    "beta2": 0.999,
    "schedule": "constant",
    "n_warmup": 0,
    "clip_norm": None,
}

Make = Callable[[int, torch.Generator], nn.Module]
Trained = tuple[nn.Module, list[tuple[float, float]]]


class NoResidualBlock(Block):
    """x = S1(N1(x)); x = S2(N2(x)): nothing goes past a sublayer."""

    def forward(self, x: Tensor, memory: Tensor | None = None, **reading: Any) -> Tensor:
        """Update every position; the arguments are those of `sublayers`."""
        for norm, sublayer in zip(self.norms, self.sublayers(memory, **reading), strict=True):
            x = sublayer(norm(x))
        return x


class AttentionOnlyBlock(Block):
    """x = x + S1(N1(x)): positions talk, and none thinks."""

    def forward(self, x: Tensor, memory: Tensor | None = None, **reading: Any) -> Tensor:
        """Update every position; the arguments are those of `sublayers`."""
        attention, _ = self.sublayers(memory, **reading)
        x = x + attention(self.norms[0](x))
        return x


def rewired(model: GPT, block_type: type[Block]) -> GPT:
    """Wire the blocks of a fresh model in a way that the package does not have, in place."""
    norm = partial(config_norm(model.config), model.config.d_model)
    blocks = model.stack.blocks
    for number, block in enumerate(blocks):
        blocks[number] = block_type(block.attention, block.feed_forward, norm)
        if block_type is AttentionOnlyBlock:  # what is not used is not counted either
            blocks[number].feed_forward = nn.Identity()
            blocks[number].norms = blocks[number].norms[:1]
    return model


def arms(d_model: int = 32, n_layers: int = 4) -> dict[str, Make]:
    """Return how to make each model from a vocabulary's size and a source of weights.

    "Transformer" has the structure of GPT-2 and GPT-3, and "Transformer++" that of LLaMA, as in
    Gu & Dao 2023; the gate of SwiGLU is paid for by a narrower layer (Shazeer 2020). "rotary" is
    "Transformer" with its positions changed. The others have other blocks than "rotary", whose
    are pre-norm (wiring A), and else are like it.
    """
    base = TransformerConfig(
        vocab_size=1,
        context_length=LENGTH,
        d_model=d_model,
        n_heads=4,
        n_layers=n_layers,
        d_ff=4 * d_model,
    )
    rotary = {"positions": "rotary"}
    llama = {**rotary, "norm": "rms", "has_bias": False}
    llama |= {"activation": "swiglu", "d_ff": 8 * d_model // 3}

    def transformer(changes: Mapping[str, Any]) -> Make:
        return lambda vocab_size, generator: GPT(
            replace(base, vocab_size=vocab_size, **changes),
            init_std=d_model**-0.5,  # GPT-2's 0.02 is made for wider ones
            generator=generator,
        )

    attention = transformer({**rotary, "n_layers": 3 * n_layers})  # as many weights: 3 x 4 = 4 + 8
    width = 7 * d_model // 3  # about as many parameters as the transformers have
    return {
        "rotary": transformer(rotary),
        "attention only": lambda V, source: rewired(attention(V, source), AttentionOnlyBlock),
        "post-norm": transformer({**rotary, "block": "post_norm"}),
        "wiring B": transformer({**rotary, "block": "single_residual"}),
        "wiring C": transformer({**rotary, "block": "parallel"}),
        "wiring D": transformer({**rotary, "block": "parallel_two_norms"}),
        "no residual": lambda V, source: rewired(transformer(rotary)(V, source), NoResidualBlock),
        "Transformer": transformer({}),
        "Transformer++": transformer(llama),
        "LSTM": lambda V, source: RecurrentLM(V, width, width, is_tied=True, generator=source),
    }


def windows(ids: Tensor, n_windows: int) -> tuple[Tensor, Tensor]:
    """Return the first windows of a stream as ids and targets."""
    n_windows = min(n_windows, (len(ids) - 1) // LENGTH)
    n = n_windows * LENGTH
    return ids[:n].view(n_windows, LENGTH), ids[1 : n + 1].view(n_windows, LENGTH)


@torch.no_grad()
def nats(model: nn.Module, text: tuple[Tensor, Tensor]) -> float:
    """Return the mean nats per character of windows, each read on its own."""
    was_training = model.training
    model.eval()
    pairs = zip(text[0].split(64), text[1].split(64), strict=True)
    losses = [model(ids, targets)[1].item() * len(ids) for ids, targets in pairs]
    model.train(was_training)
    return sum(losses) / len(text[0])


def train_with_curve(
    model: nn.Module,
    batches: BatchSource,
    config: TrainerConfig,
    judge: Callable[[nn.Module], float],
) -> list[tuple[float, float]]:
    """Train; return (CPU seconds of training, validation nats) at each look."""
    curve: list[tuple[float, float]] = []
    spent, since = 0.0, time.process_time()

    def look(trained: nn.Module) -> dict[str, float | str]:
        nonlocal spent, since
        spent += time.process_time() - since
        curve.append((round(spent, 2), judge(trained)))
        since = time.process_time()
        return {"nats": curve[-1][1]}

    every = max(1, config.n_steps // 6)
    config = replace(
        config,
        log_every=every,
        evaluate_every=every,
        checkpoint_every=every * config.n_steps,
        fused=True,
    )
    try:
        Trainer(model, batches, config, evaluate=look).train()
    except TrainingDivergedError:
        curve.append((spent, float("inf")))
    return curve


def train_arm(
    make: Make,
    stream: Tensor,
    valid: tuple[Tensor, Tensor],
    *,
    vocab_size: int,
    lr: float,
    seed: int,
    n_steps: int,
) -> Trained:
    """Train on windows of a stream; return the model and its curve."""
    model = make(vocab_size, torch.Generator().manual_seed(seed))
    config = TrainerConfig(n_steps, lr=lr, n_warmup=n_steps // 10, weight_decay=0.1)
    batches = window_batches(stream, LENGTH, BATCH_SIZE, seed=seed)
    return model, train_with_curve(model, batches, config, partial(nats, text=valid))


def best_rate(
    loss_at: Callable[[float], float], first: int = FIRST_RATE
) -> tuple[float, dict[str, float]]:
    """Return the rate of the least loss, with a larger loss on either side, and all that was tried.

    Args:
        first: place in `RATES` at which the search begins, with its right neighbour.

    Example:
        >>> best_rate(lambda lr: abs(lr - 0.015))[0]
        0.015
    """
    tried = {i: loss_at(RATES[i]) for i in (first, first + 1)}
    while True:
        best = min(tried, key=tried.__getitem__)
        beside = [i for i in (best - 1, best + 1) if 0 <= i < len(RATES) and i not in tried]
        if not beside:
            return RATES[best], {f"{RATES[i]:g}": tried[i] for i in sorted(tried)}
        tried[beside[0]] = loss_at(RATES[beside[0]])


def tune_and_repeat(fit: Callable[..., Trained]) -> tuple[dict[str, Any], list[nn.Module]]:
    """Find the rate by the first seed, train the others at it; return figures and models."""
    runs: dict[float, Trained] = {}

    def loss_at(lr: float) -> float:
        runs[lr] = fit(lr=lr, seed=SEEDS[0])
        return float(runs[lr][1][-1][1])

    lr, tried = best_rate(loss_at)
    chosen = [runs[lr], *(fit(lr=lr, seed=seed) for seed in SEEDS[1:])]
    figures = {
        "n_parameters": count_parameters(chosen[0][0]),
        "lr": lr,
        "valid_nats_by_rate": tried,
        "curves": [curve for _, curve in chosen],
    }
    return figures, [model for model, _ in chosen]


def measure_arms(
    corpus: Corpus,
    n_steps: int = N_STEPS,
    made: Mapping[str, Make] | None = None,
    keep: Callable[[dict[str, Any]], None] = lambda figures: None,
    done: Mapping[str, Any] | None = None,
    share_of_lstm: float = 2.5,
) -> dict[str, Any]:
    """Tune and train every model; test losses are those of the rate that validation chose.

    Args:
        share_of_lstm: updates of the LSTM for one of the others. Its update takes less time.
        keep: called with all figures after each model, since all of them take a while.
        done: figures of models, by name, that an earlier run has measured; they are kept.
    """
    tokenizer = CharTokenizer.train(corpus.train, min_count=20, unk=UNK)
    train, valid, test = (
        pack_documents([tokenizer.encode(text) for text in split], tokenizer.eos_id)
        for split in (corpus.train, corpus.valid, corpus.test)
    )
    looked_at, unseen = windows(valid, 128), windows(test, 768)
    figures: dict[str, Any] = {**(done or {})}
    whole = {
        "what": "test nats per character on Wikipedia, windows of 64 read on their own, by seed",
        "vocab_size": tokenizer.vocab_size,
        "n_characters_read": n_steps * BATCH_SIZE * LENGTH,
        "seeds": SEEDS,
        "arms": figures,
    }
    for name, make in (made or arms()).items():
        if name in figures:
            continue
        steps = int(n_steps * share_of_lstm) if name == "LSTM" else n_steps
        fit = partial(
            train_arm, make, train, looked_at, vocab_size=tokenizer.vocab_size, n_steps=steps
        )
        found, models = tune_and_repeat(fit)
        losses = [nats(model, unseen) for model in models]
        figures[name] = {**found, "n_steps": steps, "test_nats": losses}
        print(f"{name:14} lr {found['lr']:g}: {statistics.mean(losses):.3f}", flush=True)
        keep(whole)
    return whole


def measure_text(corpus: Corpus, n_steps: Sequence[int] = TEXTS) -> dict[str, Any]:
    """Give the LSTM and a transformer the same text; rates are tuned for each amount."""
    made = {name: arms()[name] for name in ("LSTM", "rotary")}
    parts = [measure_arms(corpus, n, made, share_of_lstm=1) for n in n_steps]
    return {**parts[0], "n_characters_read": [part["n_characters_read"] for part in parts]} | {
        "arms": {name: [part["arms"][name] for part in parts] for name in made}
    }


def story_arms() -> dict[str, tuple[Make, dict[str, Any]]]:
    """Return what makes each model of the second comparison, and what its training has of its own.

    The first is the chapter's: two blocks of width 64. The second draws its weights as GPT-2 does;
    the third trains the first one plainly; the last is an LSTM with about as many parameters.
    """
    return {
        "transformer": (_rotary(WIDTH**-0.5), {}),
        "deviation 0.02": (_rotary(0.02), {}),
        "plain Adam": (_rotary(WIDTH**-0.5), PLAIN),
        "LSTM": (lambda V, source: RecurrentLM(V, WIDTH, 112, generator=source), {}),
    }


def measure_recipe(corpus: Corpus) -> dict[str, Any]:
    """Train the first of these models for as long as the chapter on training does, in both ways."""
    make = _rotary(WIDTH**-0.5)
    whole = {"n_warmup": 50, "weight_decay": 0.1}
    return measure_stories(corpus, 500, {"plain Adam": (make, PLAIN), "recipe": (make, whole)})


def _rotary(init_std: float) -> Make:
    return lambda vocab_size, generator: GPT(
        replace(gpt_tiny(vocab_size, 128), positions="rotary"),
        init_std=init_std,
        generator=generator,
    )


def measure_stories(
    corpus: Corpus, n_steps: int = 1000, made: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Tune and train models on whole stories, by the recipe of chapter self-attention."""
    words = WordTokenizer.train(corpus.train, unk=None)
    train, valid, test = (
        [words.encode(text) for text in split]
        for split in (corpus.train, corpus.valid[:300], corpus.test)
    )

    def judge(model: nn.Module, stories: Documents = valid) -> float:
        return evaluate(model, stories, eos_id=words.eos_id).nats_per_token

    def train_one(
        make: Make, changes: Mapping[str, Any], steps: int, lr: float, seed: int
    ) -> Trained:
        model = make(words.vocab_size, torch.Generator().manual_seed(seed))
        batches = example_batches(
            train,
            lambda rows, generator: next_token_rows(rows, words.eos_id),
            BATCH_SIZE,
            seed=seed,
            lengths=[len(story) for story in train],
        )
        config = TrainerConfig(steps, lr=lr, n_warmup=steps // 15, weight_decay=0.0)
        return model, train_with_curve(model, batches, replace(config, **changes), judge)

    figures: dict[str, Any] = {}
    for name, (make, changes) in (made or story_arms()).items():
        steps = 2 * n_steps if name == "LSTM" else n_steps
        found, models = tune_and_repeat(partial(train_one, make, changes, steps))
        losses = [judge(model, test) for model in models]
        figures[name] = {**found, "n_steps": steps, "test_nats": losses}
        print(f"{name:14} lr {found['lr']:g}: {statistics.mean(losses):.4f}", flush=True)
    return {
        "what": "test nats per token on the stories, by seed",
        "batch_size": BATCH_SIZE,
        "seeds": SEEDS,
        "arms": figures,
    }


def train_gpt(
    config: TransformerConfig,
    stream: Tensor,
    valid: Documents,
    *,
    eos_id: int,
    lr: float,
    dropout: float,
    batch_size: int,
    n_epochs: int,
) -> tuple[GPT, list[float]]:
    """Train by windows; return the model as it was after its best epoch, and all perplexities."""
    model = GPT(config, dropout=dropout, generator=torch.Generator().manual_seed(0))
    batches = window_batches(stream, config.context_length, batch_size, seed=0)
    best: dict[str, Any] = {"perplexity": float("inf")}
    reached: list[float] = []

    def judge(trained: nn.Module) -> dict[str, float | str]:
        perplexity = evaluate(trained, valid, eos_id=eos_id).perplexity
        reached.append(perplexity)
        if perplexity < best["perplexity"]:
            kept = {name: weight.clone() for name, weight in trained.state_dict().items()}
            best.update(perplexity=perplexity, weights=kept)
        print(f"epoch {len(reached)}: validation perplexity {perplexity:.1f}", flush=True)
        return {"perplexity": perplexity}

    n_batches = len(batches)
    settings = TrainerConfig(
        n_steps=n_epochs * n_batches,
        lr=lr,
        n_warmup=n_batches // 10,
        precision="bfloat16",  # twice as fast where the processor knows it
        log_every=n_batches,
        evaluate_every=n_batches,
        checkpoint_every=n_epochs * n_batches,
        fused=True,
    )
    Trainer(model, batches, settings, evaluate=judge, show_progress=sys.stderr.isatty()).train()
    model.load_state_dict(best["weights"])
    return model.eval(), reached


def compare_with_counts(
    model: GPT, train: Documents, valid: Documents, test: Documents, eos_id: int
) -> tuple[NGram, dict[str, Tensor], float]:
    """Return a 5-gram, what it, the model and both together give to the test, the model's share."""
    counted = NGram.fit(train, 5, model.vocab_size, eos_id)

    def scores(scorer: LanguageModel, documents: Documents) -> Tensor:
        return torch.cat(token_log_probs(scorer, documents, eos_id=eos_id))

    held_out = valid[::2]
    share = mixture_weight(scores(model, held_out), scores(counted, held_out))
    of_model, of_counts = scores(model, test), scores(counted, test)
    mixed = mix(of_model, of_counts, share)
    named = {"5-gram": of_counts, "Transformer": of_model, "Transformer and 5-gram": mixed}
    return counted, named, share


def measure_wikipedia(corpus: Corpus, n_epochs: int = 3) -> dict[str, Any]:
    """Train two blocks on words, count, mix; beside the LSTM of `chapters.recurrent`."""
    words = Words.of(corpus)
    tokenizer = words.tokenizer
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        context_length=128,
        d_model=128,
        n_heads=4,
        n_layers=2,
        d_ff=512,
        positions="rotary",
    )
    stream = pack_documents(words.train, tokenizer.eos_id)
    model, by_epoch = train_gpt(
        config,
        stream,
        words.valid,
        eos_id=tokenizer.eos_id,
        lr=1e-3,
        dropout=0.25,
        batch_size=4,
        n_epochs=n_epochs,
    )
    _, scores, share = compare_with_counts(
        model, words.train, words.valid, words.test, tokenizer.eos_id
    )
    unsaid = UnknownWordCost(tokenizer).learn(corpus.train).nats(corpus.test)
    n_bytes = count_bytes(corpus.test)
    return {
        "what": "test perplexity per word on Wikipedia, documents scored one by one",
        "rows": {name: row(log_probs, unsaid, n_bytes) for name, log_probs in scores.items()},
        "weight_of_transformer": share,
        "valid_perplexity_by_epoch": by_epoch,
        "n_parameters": count_parameters(model),
        "vocab_size": tokenizer.vocab_size,
        "n_epochs": n_epochs,
        "sample": continue_prompt(model, tokenizer),
    }


def measure_tales(
    corpus: Corpus, n_documents: int = 800, vocab_size: int = 1025, n_test: int = 12
) -> dict[str, Any]:
    """Read a part of the tales once, by byte pairs, and count the same text."""
    texts = corpus.train[:: max(1, len(corpus.train) // n_documents)][:n_documents]
    tokenizer = BytePairTokenizer.train(texts[::8], vocab_size=vocab_size)
    fast, eos_id = FastBytePairTokenizer(tokenizer), tokenizer.eos_id
    held_out = corpus.test[:n_test]
    train, valid, test = (
        [fast.encode(text) for text in split] for split in (texts, corpus.valid[:n_test], held_out)
    )
    config = TransformerConfig(
        vocab_size=tokenizer.vocab_size,
        context_length=128,
        d_model=128,
        n_heads=4,
        n_layers=3,
        d_ff=512,
        positions="rotary",
    )
    stream = pack_documents(train, eos_id)
    model, by_epoch = train_gpt(
        config, stream, valid, eos_id=eos_id, lr=3e-3, dropout=0.0, batch_size=8, n_epochs=1
    )
    counted, scores, share = compare_with_counts(model, train, valid, test, eos_id)
    n_bytes = count_bytes(held_out)
    return {
        "what": "test perplexity per byte pair on tales, documents scored one by one",
        "rows": {name: row(log_probs, 0.0, n_bytes) for name, log_probs in scores.items()},
        "weight_of_transformer": share,
        "valid_perplexity_by_epoch": by_epoch,
        "n_parameters": count_parameters(model),
        "n_ngrams": sum(counted.n_ngrams),
        "vocab_size": tokenizer.vocab_size,
        "n_documents": len(texts),
        "n_tokens_read": len(stream) - 1,
        "sample": continue_prompt(model, tokenizer),
        "sample_of_5_gram": continue_prompt(counted, tokenizer),
    }


def row(log_probs: Tensor, unsaid: float, n_bytes: int) -> dict[str, float]:
    """Return a row's figures; `unsaid` are the nats of letters that tokens leave out."""
    return {
        "test_perplexity": float((-log_probs.mean()).exp()),
        "bits_per_byte": bits_per_byte(-float(log_probs.sum()) + unsaid, n_bytes),
    }


def continue_prompt(model: LanguageModel, tokenizer: Any, n_tokens: int = 80) -> str:
    """Return the book's prompt and what the model makes of it."""
    ids = torch.tensor([[tokenizer.eos_id, *tokenizer.encode("One day,")]])
    generator = torch.Generator().manual_seed(0)
    written = generate(model, ids, n_tokens, generator=generator, stop_id=tokenizer.eos_id)
    text: str = tokenizer.decode([i for i in written[0].tolist() if i != tokenizer.eos_id])
    return text


PARTS: dict[str, tuple[str, Callable[..., dict[str, Any]]]] = {
    "arms": ("wikipedia", measure_arms),
    "text": ("wikipedia", measure_text),
    "stories": ("stories", measure_stories),
    "recipe": ("stories", measure_recipe),
    "wikipedia": ("wikipedia", measure_wikipedia),
    "tales": ("tales", measure_tales),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure one part; print its figures and, on request, record them."""
    parser = command_line(__doc__, __file__)
    parser.add_argument("part", choices=PARTS, help="what to measure")
    recording = Recording(parser, arguments)
    part = recording.options.part
    corpus, measure = PARTS[part]
    more: dict[str, Any] = {}
    if part == "arms":  # all of them take a while, so a begun record is gone on with
        n_characters_read = N_STEPS * BATCH_SIZE * LENGTH
        recording.begin({}, same={"n_characters_read": n_characters_read, "seeds": SEEDS})

        def keep(figures: dict[str, Any]) -> None:
            recording.content |= figures
            recording.save()

        more = {"keep": keep, "done": recording.content.get("arms")}
    else:
        recording.begin({})
    figures = measure(load_corpus(corpus), **more)
    for name, row in figures.get("rows", {}).items():
        print(f"{name:24} {row['test_perplexity']:8.2f} {row['bits_per_byte']:8.4f}")
    recording.finish(figures, indent=1)


if __name__ == "__main__":
    main()

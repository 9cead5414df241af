"""Pretrain the models that ship with the course, and say on their cards how well they predict.

  python -m benchmarks.weights.pretrain train gpt   # an hour of one CPU core, minutes of a GPU
  python -m benchmarks.weights.pretrain train bert  # begins with the weights of the GPT
  python -m benchmarks.weights.pretrain ship        # into course_pkg/checkpoints, with their cards

`train` is `python -m course_pkg.train` at the size "course" and can be stopped and repeated: it
goes on where it was. `ship` measures both on the test text of each part of the library, the GPT
beside a 5-gram model of the same tokens, and stores the weights in half precision. The GPT that
ships went on from there in a second run, which `python -m benchmarks.weights.pretraining` trains
and ships.
"""

import argparse
import json
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import torch

from course_pkg import train
from course_pkg.evaluation.likelihood import bits_per_byte, count_bytes, evaluate
from course_pkg.models import IGNORE
from course_pkg.models.ngram import NGram
from course_pkg.models.transformer import count_parameters
from course_pkg.recipes import Recipe
from course_pkg.text.batches.pretraining import masked_batches
from course_pkg.text.batches.token_files import TokenFile
from course_pkg.text.corpora import load_corpus
from course_pkg.text.corpora.wikitext import prose_articles
from course_pkg.weights.model_folders import TrainedModel, load_model, save_model
from course_pkg.weights.pretrained import HISTORY_FILE

ROOT = Path(__file__).resolve().parents[2]
CHECKPOINTS = ROOT / "course_pkg" / "checkpoints"
KINDS = ("gpt", "bert")
# In short rows a token finds its neighbours sooner, and until it has, a BERT learns nothing else.
BERT_SETTINGS = ("--mask-rate", "0.3", "--context-length", "64", "--batch-size", "32",
                 "--lr", "0.002", "--steps", "3000")  # fmt: skip
N_STORIES = 250
ORDER = 5
N_MASKED_BATCHES, N_ROWS = 40, 8
MASK_RATE = 0.15
"""Of the test; a model may have learned by another."""

LICENCE = """The weights are offered under CC BY-SA 4.0, because part of the text that they were
trained on is under CC BY-SA 3.0. That text is by the authors of the English Wikipedia."""

LIMITS = """A small model, trained for a course on language models in about two hours of CPU
time; models in use have seen a million times as much text. What it writes is not true and may
offend: its text is an encyclopedia of some years ago, a novel of 1869 and made-up stories. It knows
English only. Do not use it for anything but learning how such models work."""


def parts() -> dict[str, list[str]]:
    """Return the test text of each part of the library."""
    return {
        "stories (generated)": load_corpus("stories").test[:N_STORIES],
        "TinyStories": load_corpus("tinystories_excerpt").test,
        "Wikipedia (gensim)": load_corpus("wikipedia").test,
        "Wikipedia (WikiText-2)": prose_articles(load_corpus("wikitext2").test),
        "War and Peace": load_corpus("warandpeace").test,
    }


def bits_of_parts(model: Any, tokenizer: Any) -> dict[str, float]:
    """Return a language model's bits per byte on each part."""
    encode = tokenizer.to_fast().encode
    scores = {}
    for name, texts in parts().items():
        n_bytes = count_bytes(texts)
        result = evaluate(model, [encode(t) for t in texts], n_bytes, eos_id=tokenizer.eos_id)
        scores[name] = bits_per_byte(result.nats_per_token * result.n_tokens, n_bytes)
    return scores


@torch.no_grad()
def hidden_tokens(
    trained: TrainedModel, ids: torch.Tensor, rate: float, n_batches: int | None = None
) -> tuple[float, float, int]:
    """Hide tokens of a text, the same ones each time; return what a BERT makes of them.

    Args:
        ids: the text.
        rate: share of its tokens that are hidden.
        n_batches: rows of how many batches of eight are read, at most; by default all.

    Returns:
        the sum of its nats at them, how many it guessed, and how many there are.
    """
    tokenizer: Any = trained.tokenizer
    model: Any = trained.model
    batches = masked_batches(
        ids,
        model.context_length,
        N_ROWS,
        vocab_size=tokenizer.vocab_size,
        special_ids=tokenizer.special_ids,
        rate=rate,
        seed=1,
    )
    nats, n_right, n_hidden = 0.0, 0, 0
    for batch in islice(batches, n_batches or len(batches)):
        output = model(**batch)
        hidden = batch["targets"] != IGNORE
        n = int(hidden.sum())
        nats, n_hidden = nats + float(output.loss) * n, n_hidden + n
        guesses = output.logits[hidden].argmax(dim=-1)
        n_right += int((guesses == batch["targets"][hidden]).sum())
    return nats, n_right, n_hidden


def hidden_tokens_of_parts(trained: TrainedModel) -> dict[str, tuple[float, float]]:
    """Return a BERT's nats per hidden token, and its share of right guesses, on each part."""
    tokenizer: Any = trained.tokenizer
    encode = tokenizer.to_fast().encode
    scores = {}
    for name, texts in parts().items():
        ids = torch.tensor([i for text in texts for i in (*encode(text), tokenizer.eos_id)])
        n_tokens = trained.model.context_length * N_ROWS
        n_batches = min(N_MASKED_BATCHES, len(ids) // n_tokens + 1)
        nats, n_right, n_hidden = hidden_tokens(trained, ids, MASK_RATE, n_batches)
        scores[name] = (nats / n_hidden, n_right / n_hidden)
    return scores


def counted(run: Path, tokenizer: Any) -> NGram:
    """Count n-grams in the tokens that a run learned from."""
    ids = TokenFile(run / "tokens" / "train.tokens")[torch.arange(_length(run))]
    ends = (ids == tokenizer.eos_id).nonzero().flatten().tolist()
    documents = [ids[first + 1 : last].tolist() for first, last in pairwise(ends)]
    return NGram.fit(documents, ORDER, tokenizer.vocab_size, tokenizer.eos_id)


def _length(run: Path) -> int:
    return len(TokenFile(run / "tokens" / "train.tokens"))


def milestones(run: Path) -> list[dict[str, Any]]:
    """Return what a run noted whenever it was evaluated: update, loss, and a GPT's sample."""
    log = [json.loads(line) for line in (run / "log.jsonl").read_text("utf-8").splitlines()]
    names = ("step", "valid_loss", "valid_bits_per_byte", "sample")
    noted = [{n: e[n] for n in names if n in e} for e in log if "valid_loss" in e]
    if not all("valid_bits_per_byte" in entry for entry in noted):  # a BERT's are pages long
        noted = [{n: v for n, v in entry.items() if n != "sample"} for entry in noted]
    return noted


def card(run: Path, trained: TrainedModel, table: str, machine: str) -> str:
    """Write what the model is, where it comes from and what not to expect of it."""
    recipe = Recipe.from_json((run / train.RECIPE_FILE).read_text(encoding="utf-8"))
    curve = [f"| {e['step']} | {e['valid_loss']:.3f} |" for e in milestones(run)]
    about = json.loads((run / "tokens" / "about.json").read_text(encoding="utf-8"))
    n_seen = recipe.trainer.n_steps * recipe.batch_size * recipe.context_length
    text = f"""# {recipe.kind}-small: {count_parameters(trained.model):,} parameters

{LIMITS}

## Structure
{recipe.n_layers} layers, width {recipe.d_model}, {recipe.n_heads} heads,
context of {recipe.context_length} tokens, byte-pair vocabulary of {_vocabulary(trained)};
`config.json` says the rest. Weights are stored as float16.

## Data
`load_corpus("library")`: {about["n_train_tokens"]:,} tokens. A quarter of the generated stories
(Apache-2.0), Wikipedia articles of gensim's test data and of WikiText-2 (CC BY-SA 3.0), the head of
TinyStories (CDLA-Sharing-1.0), War and Peace (public domain). sha256 {about["sha256"]}.

## Training
{recipe.trainer.n_steps:,} updates, {n_seen / 1e6:.1f} million tokens, each of the corpus about
{n_seen / about["n_train_tokens"]:.1f} times; {_objective(recipe)}. AdamW, learning rate
{recipe.trainer.lr:g} with a cosine, {recipe.trainer.precision}. {machine},
{datetime.now(UTC).date().isoformat()}, torch {torch.__version__}.

| update | validation loss, nats per target |
|---|---|
{chr(10).join(curve)}

Repeat it: `python -m benchmarks.weights.pretrain train {recipe.kind}`, with the standard data files
in the folder COURSE_DATA.

## How well it predicts text that it has not seen
{table}

## Licence
{LICENCE}
"""
    return text


def _vocabulary(trained: TrainedModel) -> str:
    """Return how many tokens there are, and how many of them only pad."""
    size, padded = trained.tokenizer.vocab_size, trained.model.vocab_size
    return f"{size:,}" if size == padded else f"{size:,} (padded to {padded:,})"


def _objective(recipe: Recipe) -> str:
    if recipe.kind == "gpt":
        return "the next token is predicted"
    return (
        f"{100 * recipe.mask_rate:.0f} % of the tokens are predicted (the classic 15 % would "
        "teach less an update), of which 80 % are masked, 10 % replaced, 10 % left. "
        "It began with the weights of gpt-small, which saw the same text. "
        "There was no next-sentence task: the pooler and the pair head are untrained"
    )


def gpt_table(run: Path, trained: TrainedModel) -> str:
    """Return bits per byte of the GPT and of counting, part by part."""
    ours = bits_of_parts(trained.model, trained.tokenizer)
    theirs = bits_of_parts(counted(run, trained.tokenizer), trained.tokenizer)
    rows = [f"| {name} | {ours[name]:.3f} | {theirs[name]:.3f} |" for name in ours]
    head = f"| test text | bits per byte | {ORDER}-gram Kneser–Ney on the same tokens |"
    return "\n".join([head, "|---|---|---|", *rows])


def bert_table(trained: TrainedModel) -> str:
    """Return loss and accuracy at hidden tokens, part by part."""
    rows = [
        f"| {name} | {nats:.3f} | {100 * right:.1f} % |"
        for name, (nats, right) in hidden_tokens_of_parts(trained).items()
    ]
    head = "| test text | nats per masked token | guessed right |"
    return "\n".join([head, "|---|---|---|", *rows])


def ship(runs: Path, kinds: Sequence[str], machine: str) -> None:
    """Copy what was trained into the package, weights halved, with cards."""
    for kind in kinds:
        run = runs / f"{kind}-small"
        trained = load_model(run / "model")
        config = json.loads((run / "model" / "config.json").read_text(encoding="utf-8"))
        table = gpt_table(run, trained) if kind == "gpt" else bert_table(trained)
        folder = CHECKPOINTS / run.name
        save_model(
            folder,
            trained.model,
            trained.tokenizer,
            kind=kind,
            structure=config["structure"],
            card=card(run, trained, table, machine),
            dtype=torch.float16,
        )
        history = json.dumps(milestones(run), indent=1, ensure_ascii=False)
        (folder / HISTORY_FILE).write_text(history + "\n", encoding="utf-8")
        n_bytes = sum(file.stat().st_size for file in folder.iterdir())
        print(f"{folder.relative_to(ROOT)}: {n_bytes / 1e6:.1f} MB\n{table}")


def training(kind: str, runs: Path, n_updates: int | None = None) -> list[str]:
    """Return the arguments of `course_pkg.train` that pretrain a model, or train it longer."""
    command = [kind, "--corpus", "library", "--size", "course", "--fast", "--resume"]
    command += ["--precision", "bfloat16", "--out", f"{runs}/{kind}-small"]
    if kind == "bert":
        command += [*BERT_SETTINGS, "--begin-with", f"{runs}/gpt-small/model"]
    return command if n_updates is None else [*command, "--steps", str(n_updates)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Train one model, or ship both."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.weights.pretrain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of both runs")
    steps = parser.add_subparsers(dest="step", required=True)
    training_step = steps.add_parser("train", help="train one model, or go on")
    training_step.add_argument("kind", choices=KINDS)
    training_step.add_argument("--updates", type=int, help="how many  [those of the shipped one]")
    shipping = steps.add_parser("ship", help="measure them and put them into the package")
    shipping.add_argument("kinds", nargs="*", choices=[[], *KINDS], help="which  [both]")
    shipping.add_argument("--machine", default=platform.machine(), help="what they were trained on")
    options = parser.parse_args(arguments)
    if options.step == "ship":
        ship(options.runs, options.kinds or KINDS, options.machine)
        return
    train.main(training(options.kind, options.runs, options.updates))


if __name__ == "__main__":
    main()

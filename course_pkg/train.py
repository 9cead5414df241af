"""Train a model by a recipe, from the command line: one process or, under torchrun, many.

    python -m course_pkg.train gpt --corpus stories --size tiny
    python -m course_pkg.train bert --corpus wikipedia --size small --steps 500
    python -m course_pkg.train gpt --corpus stories --size tiny --resume
    torchrun --nproc-per-node 8 -m course_pkg.train gpt --corpus tinystories --size medium --fast
    torchrun --nproc-per-node 8 -m course_pkg.train gpt --corpus stories --size gpt2 --fast --shard

A run is a folder. It holds the recipe, the tokenized corpus, `log.jsonl`, checkpoints from which
the run goes on after any interruption with --resume, and at the end `model/`: structure, weights,
tokenizer and card, to be loaded with `course_pkg.weights.model_folders.load_model`.
"""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from course_pkg.common.devices import choose_device, describe_device
from course_pkg.common.files import path_of, reason_of, refuse_file, write_atomically
from course_pkg.models.transformer import count_parameters
from course_pkg.recipes import KINDS, SIZES, TOKENIZERS, Prepared, Recipe, fields_of, prepare
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.training import distributed
from course_pkg.training.checkpoint import CheckpointError, list_checkpoints
from course_pkg.training.compute import Peak, flops_per_token, peak_flops
from course_pkg.training.lock import only_process
from course_pkg.training.log import without_detours
from course_pkg.training.prefetch import Prefetched
from course_pkg.training.sharding import whole_weights
from course_pkg.training.trainer import Trainer, TrainingDivergedError
from course_pkg.weights.model_folders import (
    build_model,
    claim_folder,
    remove_unfinished,
    save_model,
)

RECIPE_FILE = "recipe.json"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m course_pkg.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("kind", choices=KINDS, help="what to train")
    add("--corpus", help="see course_pkg.text.corpora  [stories; seq2seq: translations]")
    add("--size", choices=list(SIZES), default="tiny", help="of model and run  [tiny]")
    add("--out", help="the run's folder  [runs/<kind>-<corpus>-<size>]")
    add(
        "--resume", action="store_true", help="go on from the newest checkpoint, by the same recipe"
    )
    add(
        "--device",
        default="auto",
        help="cpu, cuda, mps (Apple's GPU), or auto for a GPU where there is one  [auto]",
    )
    add("--fast", action="store_true",
        help="fused optimizer, padded vocabulary, batches drawn ahead, and on a GPU bfloat16 and, "
        "for transformers, torch.compile")  # fmt: skip
    add("--shard", action="store_true",
        help="under torchrun: divide weights, gradients and optimizer state among the processes, "
        "for models that one GPU cannot hold; same updates, same checkpoints")  # fmt: skip
    for name, kind, text in (
        ("steps", int, "updates"),
        ("lr", float, "peak learning rate"),
        ("batch-size", int, "rows in a batch"),
        ("context-length", int, "tokens in a row"),
        ("n-accumulate", int, "batches in an update"),
        ("dropout", float, "probability"),
        ("vocab-size", int, "most tokens of the tokenizer"),
        ("mask-rate", float, "share of the tokens that BERT must predict"),
        ("begin-with", str, "folder of a trained model, whose weights are the first ones"),
        ("precision", str, "float32, bfloat16 or float16"),
        ("seed", int, "of weights, order of the data, and dropout"),
    ):
        add(f"--{name}", type=kind, help=f"{text}, instead of the size's own")
    add("--tokenizer", choices=TOKENIZERS, help="instead of the corpus's own")
    return parser.parse_args(arguments)


def recipe_of(options: argparse.Namespace, device: torch.device) -> Recipe:
    """Turn the command line into a recipe; what it leaves open follows from size and device."""
    corpus = options.corpus or ("translations" if options.kind == "seq2seq" else "stories")
    changes: dict[str, Any] = {
        "n_steps": options.steps,
        "lr": options.lr,
        "batch_size": options.batch_size,
        "context_length": options.context_length,
        "n_accumulate": options.n_accumulate,
        "dropout": options.dropout,
        "vocab_size": options.vocab_size,
        "mask_rate": options.mask_rate,
        "begin_with": options.begin_with,
        "precision": options.precision,
        "seed": options.seed,
    }
    if options.fast:
        # Recurrent kernels are compiled as they come; torch.compile would stop at each of them.
        is_transformer = options.kind in ("gpt", "bert", "t5")
        is_compiled = device.type == "cuda" and is_transformer
        changes |= {"fused": True, "pad_vocab": 64, "compile": is_compiled}
        if device.type == "cuda" and options.precision is None:
            changes["precision"] = "bfloat16"
    return Recipe.of(options.kind, corpus, options.size, tokenizer=options.tokenizer, **changes)


def run(
    recipe: Recipe,
    folder: Path,
    device: torch.device,
    *,
    resume: bool,
    fast: bool,
    shard: bool = False,
) -> None:
    """Train by a recipe in a folder; every process of a group calls this.

    Raises:
        ValueError: if the folder's run followed another recipe, or one process is to shard.
        FileExistsError: if the folder has a run and `resume` is False.
        BlockingIOError: if another process is training in the folder.
    """
    with only_process(refuse_file(folder), device):
        _claim(recipe, folder, resume=resume)
        _run_alone(recipe, folder, device, fast=fast, resume=resume, shard=shard)


def _run_alone(
    recipe: Recipe, folder: Path, device: torch.device, *, resume: bool, fast: bool, shard: bool
) -> None:
    prepared = _prepare_once(recipe, folder)
    peak = peak_flops(device, recipe.trainer.precision)
    cost = _cost(recipe, prepared.plain)
    if distributed.is_main():
        print(_announce(recipe, prepared, folder, device, peak), flush=True)
    batches = prepared.batches
    if fast:
        batches = Prefetched(batches, pin=device.type == "cuda")
    trainer = Trainer(
        prepared.model,
        batches,
        recipe.trainer,
        folder=folder,
        evaluate=_PrintedEvaluation(prepared),
        device=device,
        full_speed=peak.flops_per_second * distributed.n_processes() / cost,
        show_progress=sys.stderr.isatty(),
        shard=shard,
    )
    started = time.perf_counter()
    history = trainer.train(resume=resume)
    if trainer.run.n_done_here == 0 and (folder / "model").is_dir():
        if distributed.is_main():
            print(f"this run is finished; the model and its card: {folder / 'model'}")
        return
    weights = whole_weights(prepared.plain)
    if distributed.is_main():
        card = _card(recipe, prepared, history, device, time.perf_counter() - started)
        plain = prepared.plain
        if shard:
            plain = build_model(recipe.kind, prepared.structure)
            plain.load_state_dict(weights)
        save_model(
            folder / "model",
            plain,
            prepared.tokenizer,
            kind=recipe.kind,
            structure=prepared.structure,
            card=card,
        )
        remove_unfinished(folder / "model")
        print(f"the model and its card: {folder / 'model'}")


def _cost(recipe: Recipe, model: torch.nn.Module) -> float:
    """Return the operations of an update for each token that is read."""
    cost = flops_per_token(model, recipe.context_length)
    if recipe.kind in ("t5", "seq2seq"):
        return cost / 2  # a token passes one of two halves that are alike
    if recipe.kind == "bert":  # only what is masked is compared with the table of embeddings
        vocab_size, width = model.output_table.shape  # type: ignore[union-attr, misc]
        cost -= (1 - recipe.mask_rate) * 6 * vocab_size * width
    return cost


def _claim(recipe: Recipe, folder: Path, *, resume: bool) -> None:
    """Leave the recipe in the folder, or make sure that the one there is the same.

    Raises:
        ValueError: if it is another one, or damaged; the message names the file.
        FileExistsError: if the folder has a run and `resume` is False.
    """
    file = folder / RECIPE_FILE
    if distributed.is_main():
        claim_folder(folder / "model")  # now, and not after hours of training
        folder.mkdir(parents=True, exist_ok=True)
        if list_checkpoints(folder) and not resume:
            raise FileExistsError(f"{folder} has a run: add --resume to go on, or choose --out")
        if not list_checkpoints(folder):
            if resume:
                print(f"{folder} has no checkpoint to go on from; the run begins", flush=True)
            if file.exists() and '"trainer"' not in file.read_text(encoding="utf-8"):
                raise FileExistsError(f"{file} is no recipe of this program; choose another --out")
            write_atomically(file, recipe.to_json())
    distributed.wait_for_all()
    try:
        earlier, now = (
            {**{k: v for k, v in fields.items() if k != "trainer"}, **fields["trainer"]}
            for fields in map(fields_of, (file.read_text(encoding="utf-8"), recipe.to_json()))
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{file} cannot be read as a recipe: {reason_of(error)}; begin anew with another "
            "--out, or write the recipe there again that the run was begun with"
        ) from error
    differing = [
        f"{name} was {earlier.get(name)!r}, not {value!r}"
        for name, value in now.items()
        if earlier.get(name) != value
    ]
    if differing:
        raise ValueError(f"{folder} was trained by another recipe: {'; '.join(differing)}")


def _prepare_once(recipe: Recipe, folder: Path) -> Prepared:
    """Let one process tokenize the corpus, and the others read what it wrote."""
    share = (distributed.process_number(), distributed.n_processes())
    if not distributed.is_main():
        distributed.wait_for_all()
    prepared = prepare(recipe, folder / "tokens", share)
    if distributed.is_main():
        distributed.wait_for_all()
    return prepared


class _PrintedEvaluation:
    """Evaluates, and prints what the model makes of it above the progress bar."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared

    def __call__(self, model: torch.nn.Module) -> dict[str, float | str]:
        figures = self.prepared.evaluate(model)
        if distributed.is_main():
            numbers = ", ".join(
                f"{name} {value:.3f}" for name, value in figures.items() if name != "sample"
            )
            print(f"\n{numbers}\n  {figures['sample']}", flush=True)
        return figures


def _announce(
    recipe: Recipe, prepared: Prepared, folder: Path, device: torch.device, peak: Peak
) -> str:
    return (
        f"{recipe.to_json()}"
        f"{count_parameters(prepared.plain):,} parameters, vocabulary of "
        f"{prepared.tokenizer.vocab_size:,}, corpus from {prepared.about['source']}\n"
        f"on {distributed.n_processes()} x {describe_device(device)}, at most "
        f"{peak.flops_per_second:.3g} operations a second each ({peak.source})\n"
        f"log and checkpoints: {folder}"
    )


def _card(
    recipe: Recipe,
    prepared: Prepared,
    history: Sequence[dict[str, Any]],
    device: torch.device,
    seconds: float,
) -> str:
    """Say what the model is, where it comes from and what not to expect of it."""
    evaluated = [entry for entry in without_detours(history) if "valid_loss" in entry]
    curve = [f"| {entry['step']} | {entry['valid_loss']:.3f} |" for entry in evaluated]
    about = "\n".join(f"- {key}: {value}" for key, value in prepared.about.items())
    n_targets = recipe.batch_size * recipe.context_length * recipe.trainer.n_accumulate
    return f"""# {recipe.kind}, {count_parameters(prepared.plain):,} parameters

A small model, trained for a course on language models. It knows its corpus and nothing else: what
it writes is not true, and must not be used as if it were.

## Data
{about}

## Training
- recipe: `recipe.json` beside this run; {recipe.trainer.n_steps} updates of about
  {n_targets * distributed.n_processes():,} tokens
- validation loss at the end: {evaluated[-1]["valid_loss"]:.3f} nats per target
- machine: {distributed.n_processes()} x {describe_device(device)},
  {seconds / 60:.1f} minutes in the last session,
  {datetime.now(UTC).date().isoformat()}, torch {torch.__version__}
- command: `python -m course_pkg.train {shlex.join(sys.argv[1:])}`

| update | validation loss |
|---|---|
{chr(10).join(curve)}
"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Train; exit code 1 says that it could not be done, with the reason in one line."""
    options = parse(arguments)
    try:
        chosen = choose_device(options.device)
        recipe = recipe_of(options, chosen)
        usual = Path("runs", f"{options.kind}-{recipe.corpus}-{options.size}")
        folder = path_of(options.out or usual)
        with distributed.process_group(chosen) as device:
            run(
                recipe,
                folder,
                device,
                resume=options.resume,
                fast=options.fast,
                shard=options.shard,
            )
    except KeyboardInterrupt:
        print("\nstopped; the same command with --resume goes on", file=sys.stderr)
        sys.exit(130)
    except (
        ValueError,
        OSError,
        MemoryError,
        SafetensorError,
        CheckpointError,
        SourceUnavailableError,
        TrainingDivergedError,
    ) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # it forks badly, and warns of it
    main()

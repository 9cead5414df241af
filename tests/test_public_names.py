"""Nothing in the package is there for its own sake."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
READERS = ("book", "assignments", "benchmarks")


def identifiers(tree: ast.AST) -> Counter[str]:
    """Count the names that code uses; docstrings and comments are no use."""
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                found[name] += 1
    return found


def test_every_public_name_is_used_by_a_reader_or_by_code_that_is_not_its_own():
    """By a chapter, a problem set, a benchmark, or package code outside its definition.

    A name that only its own tests know would pass every other check for ever.
    """
    texts = [
        path.read_text(encoding="utf-8")
        for folder in READERS
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md") and "_build" not in path.parts
    ]
    read = {word for text in texts for word in re.findall(r"\w+", text)}
    trees = [
        ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "course_pkg").rglob("*.py"))
    ]
    used = sum(map(identifiers, trees), Counter())
    unused = [
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and node.name not in read
        and used[node.name] == identifiers(node)[node.name]
    ]
    assert unused == []

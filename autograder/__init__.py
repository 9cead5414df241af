"""Grade notebooks of students who may be hostile: release, grade, explain, check, export."""

import sys

# jsonschema, which nbformat loads, compiles a grammar of international addresses where it finds
# one: a second of every process, for what no notebook's format asks.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

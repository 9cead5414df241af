"""Grade notebooks of students who may be hostile: release, grade, explain, check, export."""

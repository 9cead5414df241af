"""Text to learn from, running or labelled, from whatever source this machine has."""

from course_pkg.text.corpora.labelled_data import list_tasks, load_task
from course_pkg.text.corpora.running_text import (
    Corpus,
    list_corpora,
    load_corpus,
    name_frequencies,
    reference_prose,
)

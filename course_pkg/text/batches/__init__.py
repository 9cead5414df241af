"""Ids to batches: which tokens a model sees together, and in which order."""

from course_pkg.text.batches.batching import (
    IGNORE,
    Batch,
    Batches,
    example_batches,
    next_token_rows,
    pack_documents,
    pad_rows,
    random_windows,
    stream_batches,
    translation_rows,
    window_batches,
)
from course_pkg.text.batches.mixture import mixed_windows

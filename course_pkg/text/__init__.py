"""From text to token ids to batches."""

"""From a loss to a trained checkpoint."""

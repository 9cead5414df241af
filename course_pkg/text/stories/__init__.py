"""Generated text whose entropy, labels and translations are known exactly."""

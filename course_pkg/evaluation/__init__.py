"""Numbers for a model: likelihood, metrics of tasks, scores of answers, probes of its vectors."""

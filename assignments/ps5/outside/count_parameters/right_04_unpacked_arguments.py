def _count(*, vocab_size, context_length, d_model, n_layers, n_heads, n_kv_heads, d_ff, positions, norm, activation, has_bias, is_tied):
    gated = activation == "swiglu"
    width = d_model // n_heads
    matrices = 2 * d_model * d_model + 2 * d_model * width * n_kv_heads + (2 + gated) * d_model * d_ff
    biases = has_bias * (2 * d_model + 2 * width * n_kv_heads + (1 + gated) * d_ff + d_model)
    norms = d_model * (1 + (has_bias and norm == "layer"))
    embeddings = d_model * (vocab_size * (2 - is_tied) + context_length * (positions == "learned"))
    return int(embeddings + n_layers * (matrices + biases + 2 * norms) + norms)


def count_parameters(config):
    return _count(**config)

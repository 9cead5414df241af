# wrong: shifts the triangle by n_keys % n_queries in place of the difference.
# shows: n_keys >= 2 * n_queries; (3, 5) is still right.

import torch


def causal_mask(n_queries, n_keys):
    return torch.tril(torch.ones(n_queries, n_keys), diagonal=n_keys % n_queries).bool()

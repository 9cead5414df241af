import numpy as np


def mle_prob(counts, history, token):
    table = dict.get(counts, history, None)
    if table is None or len(table) == 0:
        return 0.0
    return table[token] / np.sum(list(table.values())).item()

# right: spreads "is no padding" over all queries and cuts the triangle out of it
import torch


def decoder_mask(ids, pad_id):
    n_texts, n = ids.shape
    return ids.ne(pad_id).reshape(n_texts, 1, 1, n).repeat(1, 1, n, 1).tril()

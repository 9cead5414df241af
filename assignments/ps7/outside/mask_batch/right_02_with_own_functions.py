# right: with the functions of tasks 1 and 2.
# needs: choose_positions, corrupt

import torch


def mask_batch(ids, special_ids, vocab_size, mask_id, generator):
    draws = torch.rand(ids.shape, generator=generator)
    dice = torch.randint(10, ids.shape, generator=generator)
    ordinary = torch.ones(vocab_size, dtype=torch.bool)
    ordinary[special_ids] = False
    words = ordinary.nonzero().flatten()
    random_ids = words[torch.randint(len(words), ids.shape, generator=generator)]
    return corrupt(ids, choose_positions(ids, draws, 0.15, special_ids), dice, random_ids, mask_id)

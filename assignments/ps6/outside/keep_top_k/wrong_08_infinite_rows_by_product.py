# wrong: adds the logarithm of a mask computed in the logits; the -inf of the input meets 0 and becomes nan.
# shows: logits with -inf that is cut off: nan (0 * -inf).


def keep_top_k(logits, k):
    limit = logits.sort(dim=-1, descending=True).values[..., min(k, logits.shape[-1]) - 1].unsqueeze(-1)
    mask = (logits >= limit).to(logits.dtype)
    return logits * mask + mask.log()

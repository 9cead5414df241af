# wrong: computes in float32 and casts back; in float64, scores of 1e9 and 1e9 + 1 become equal.
# shows: float64 with large scores that differ little (weights 0.5/0.5 in place of 0.27/0.73).

def dot_attention(query, keys, values):
    q, k, v = query.float(), keys.float(), values.float()
    s = (k @ q.unsqueeze(-1)).squeeze(-1)
    w = s.softmax(dim=-1)
    c = (w.unsqueeze(1) @ v).squeeze(1)
    return s.to(query.dtype), w.to(query.dtype), c.to(query.dtype)

# wrong: tanh as a quotient of exponentials: inf / inf = nan for sums beyond 88 (float32).
# shows: large inputs or weights.

def elman_step(inputs, hidden, weight_ih, weight_hh, bias_ih, bias_hh):
    z = inputs @ weight_ih.T + bias_ih + hidden @ weight_hh.T + bias_hh
    return (z.exp() - (-z).exp()) / (z.exp() + (-z).exp())

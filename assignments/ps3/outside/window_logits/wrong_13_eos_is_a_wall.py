# wrong: where an eos stands INSIDE the text, hides all that came before it in the window, as in problem set 1; breaks "The window of place t holds the ids t - W + 1 to t" (only "where the text has not begun, it holds eos_id")
# shows: ids [[1, 0, 2]], eos_id 0, window 3: place 2 is scored as after 0, 0, 2 in place of 1, 0, 2
import torch


def window_logits(ids, window, eos_id, weights):
    front = ids.new_full((ids.shape[0], window - 1), eos_id)
    padded = torch.cat([front, ids], dim=1).unfold(1, window, 1)
    later_eos = (padded == eos_id).flip(-1).cumsum(-1).flip(-1) > 0
    padded = padded.masked_fill(later_eos, eos_id)
    x = weights["embedding"][padded].flatten(2)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]

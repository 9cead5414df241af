"""Answers to the task "the fixed window"."""

import torch
from torch.nn import functional as F

from assignments.answers import alternatives, mistakes


def newest_first(ids, window, eos_id, weights):
    """The window is reversed: the newest id comes first."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1).flip(-1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def without_tanh(ids, window, eos_id, weights):
    """The tanh is missing."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = vectors @ weights["hidden"].T + weights["hidden_bias"]
    return hidden @ weights["output"].T + weights["output_bias"]


def zeros_before_the_text(ids, window, eos_id, weights):
    """Before the text stands a vector of zeros instead of eos."""
    vectors = F.pad(weights["embedding"][ids], (0, 0, window - 1, 0))
    vectors = vectors.unfold(1, window, 1).transpose(2, 3).flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def id_0_before_the_text(ids, window, eos_id, weights):
    """Before the text stands the id 0 instead of eos."""
    padded = F.pad(ids, (window - 1, 0))
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def pad_on_the_right(ids, window, eos_id, weights):
    """The padding stands after the text, so that a window sees what is to come."""
    padded = F.pad(ids, (0, window - 1), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def one_place_late(ids, window, eos_id, weights):
    """The window ends one place too early: the newest id is not seen."""
    padded = F.pad(ids, (window, 0), value=eos_id)[:, :-1]
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def only_full_windows(ids, window, eos_id, weights):
    """Places without a full window are left out."""
    vectors = weights["embedding"][ids.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def without_hidden_bias(ids, window, eos_id, weights):
    """The hidden layer's bias is missing."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T)
    return hidden @ weights["output"].T + weights["output_bias"]


def without_output_bias(ids, window, eos_id, weights):
    """The bias of the output is missing."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T


def probabilities(ids, window, eos_id, weights):
    """Probabilities are returned instead of scores."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return torch.softmax(hidden @ weights["output"].T + weights["output_bias"], dim=-1)


def mixed_up_features(ids, window, eos_id, weights):
    """The features of the window's embeddings are interleaved, not side by side."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = weights["embedding"][padded.unfold(1, window, 1)].transpose(2, 3).flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def rows_in_one_stream(ids, window, eos_id, weights):
    """The left context of a row is the end of the row above it."""
    n_rows, n_places = ids.shape
    stream = F.pad(ids.reshape(1, -1), (window - 1, 0), value=eos_id)
    windows = stream.unfold(1, window, 1).reshape(n_rows, n_places, window)
    vectors = weights["embedding"][windows].flatten(2)
    hidden = torch.tanh(vectors @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


def by_unfold(ids, window, eos_id, weights):
    """Lets torch cut the windows out of the padded ids."""
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = F.embedding(padded.unfold(1, window, 1), weights["embedding"]).flatten(2)
    hidden = F.linear(vectors, weights["hidden"], weights["hidden_bias"]).tanh()
    return F.linear(hidden, weights["output"], weights["output_bias"])


def by_sums(ids, window, eos_id, weights):
    """Adds up one product for each place of the window, without putting vectors side by side."""
    embedding = weights["embedding"]
    n_places, d_embedding = ids.shape[1], embedding.shape[1]
    total = weights["hidden_bias"]
    for age in range(window):  # 0 is the newest
        seen = torch.full_like(ids, eos_id)
        if age < n_places:
            seen[:, age:] = ids[:, : n_places - age]
        first = (window - 1 - age) * d_embedding
        part = weights["hidden"][:, first : first + d_embedding]
        total = total + embedding[seen] @ part.T
    return torch.tanh(total) @ weights["output"].T + weights["output_bias"]


def by_places(ids, window, eos_id, weights):
    """Computes which place each window looks at, and replaces those before the text."""
    places = torch.arange(ids.shape[1])[:, None] - torch.arange(window - 1, -1, -1)
    windows = torch.where(places >= 0, ids[:, places.clamp(min=0)], eos_id)  # (B, T, W)
    vectors = weights["embedding"][windows]
    inputs = vectors.reshape(*ids.shape, -1)
    hidden = torch.tanh(
        torch.einsum("btx,rx->btr", inputs, weights["hidden"]) + weights["hidden_bias"]
    )
    return torch.einsum("btr,vr->btv", hidden, weights["output"]) + weights["output_bias"]


def by_convolution(ids, window, eos_id, weights):
    """A hidden layer over windows is a convolution over the text."""
    padded = torch.cat([torch.full_like(ids[:, :1], eos_id)] * (window - 1) + [ids], dim=1)
    vectors = weights["embedding"][padded].transpose(1, 2)  # (B, E, T + W - 1)
    d_hidden = len(weights["hidden"])
    kernel = weights["hidden"].reshape(d_hidden, window, -1).transpose(1, 2)
    hidden = torch.tanh(F.conv1d(vectors, kernel, weights["hidden_bias"]))
    return hidden.transpose(1, 2) @ weights["output"].T + weights["output_bias"]


def by_table(ids, window, eos_id, weights):
    """Multiplies every embedding by every place's weights first, then looks up the products."""
    d_hidden = len(weights["hidden"])
    blocks = weights["hidden"].view(d_hidden, window, -1)
    table = torch.einsum("ve,rwe->wvr", weights["embedding"], blocks)  # (W, V, R)
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    n_places = ids.shape[1]
    looked_up = [table[w][padded[:, w : w + n_places]] for w in range(window)]
    hidden = torch.tanh(torch.stack(looked_up).sum(dim=0) + weights["hidden_bias"])
    return torch.matmul(hidden, weights["output"].mT) + weights["output_bias"]


MISTAKES = mistakes(
    (
        newest_first,
        "Your window holds the right ids, but in reverse. Each place of the window has its own "
        "weights, so order counts: the oldest id comes first.",
    ),
    (
        without_tanh,
        "Your hidden layer has no tanh. Without it two layers are one linear map, and the network "
        "cannot combine words in any way that a sum does not.",
    ),
    (
        zeros_before_the_text,
        "You put vectors of zeros before the text. There stands eos_id, an id with an embedding of "
        "its own: pad the ids first, and look up afterwards.",
    ),
    (
        id_0_before_the_text,
        "You pad with the id 0. It may be an ordinary word: pad with the eos_id that is given.",
    ),
    (
        pad_on_the_right,
        "You pad on the right. So a window reaches to the right of its place and sees the very id "
        "that is to be predicted. What is missing is missing on the left.",
    ),
    (
        one_place_late,
        "Your windows end one place too early: the score at a place must use the id of the place "
        "itself, since it predicts the id after it. How many ids of padding do you need?",
    ),
    (
        only_full_windows,
        "You score only places with a full window. The first words of a text must be predicted "
        "too: fill what is missing on the left with eos_id.",
    ),
    (
        without_hidden_bias,
        "Your hidden layer has no bias. Add `hidden_bias` to the product before the tanh.",
    ),
    (
        without_output_bias,
        "Your output has no bias. It lets frequent words have a high score in every context: add "
        "it to the product with the output weights.",
    ),
    (
        probabilities,
        "You return probabilities. The contract asks for the scores before softmax, since the "
        "loss needs them to stay accurate.",
    ),
    (
        mixed_up_features,
        "In your windows the first features of all ids come first, then the second ones. Put whole "
        "embeddings side by side: look at the order of the axes before you flatten.",
    ),
    (
        rows_in_one_stream,
        "In your answer the left context of one row is the end of the row above. Rows of a batch "
        "are separate texts: pad each of them.",
    ),
)

ALTERNATIVES = alternatives(by_unfold, by_sums, by_places, by_convolution, by_table)

"""Probes against scipy and tasks with known answers; heads against attention written by hand."""

import jaxtyping
import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from transformers import GPT2Config, GPT2Model

from course_pkg.evaluation.probing import (
    Probed,
    control_labels,
    fit_probe,
    heads_that_follow,
    layer_vectors,
    probe,
    trace_of,
)
from course_pkg.models.bert import BERT, bert_tiny
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.weights.pretrained import gpt2_weights

N, D, C = 40, 5, 3


def test_layer_vectors_match_transformers(rng):
    """But for the last, which transformers gives after the final norm."""
    theirs = GPT2Model(GPT2Config(vocab_size=11, n_positions=9, n_embd=64, n_layer=2, n_head=4))
    ours = GPT(gpt_tiny(11, 9))
    ours.load_state_dict(gpt2_weights(theirs.eval().state_dict()))
    texts = [[3, 1, 4, 1, 5], [9, 2, 6]]
    found = layer_vectors(ours.train(), texts, [[0, 4], [2]])
    assert found.shape == (3, 3, 64) and ours.training
    for text, at, columns in ((texts[0], [0, 4], [0, 1]), (texts[1], [2], [2])):
        with torch.no_grad():
            expected = theirs(torch.tensor([text]), output_hidden_states=True).hidden_states
        for layer in range(2):
            # float32 through two blocks, fused differently
            torch.testing.assert_close(
                found[layer, columns], expected[layer][0, at], rtol=1e-4, atol=1e-5
            )


def test_probe_finds_the_minimum_that_scipy_finds(rng):
    x = torch.randn(N, D, generator=rng, dtype=torch.float64) * 7
    labels = torch.randint(C, (N,), generator=rng)
    decay, scale = 0.02, x.std(unbiased=False).item()
    scaled, onehot = (x / scale).numpy(), np.eye(C)[labels.numpy()]

    def loss(flat):
        w, b = flat[: C * D].reshape(C, D), flat[C * D :]
        scores = scaled @ w.T + b
        top = scores.max(1, keepdims=True)
        log_probs = scores - top - np.log(np.exp(scores - top).sum(1, keepdims=True))
        return -(onehot * log_probs).sum() / N + decay / 2 * (w**2).sum()

    expected = minimize(loss, np.zeros(C * D + C), method="BFGS", options={"gtol": 1e-9}).x
    weight, _ = fit_probe(x, labels, C, decay=decay)
    found = (weight * scale).flatten().numpy()
    np.testing.assert_allclose(found, expected[: C * D], atol=1e-4)  # BFGS differentiates by steps


def test_control_task_labels_words_not_places(rng):
    words = ["a", "b", "a", "c", "b", "a"]
    labels = torch.tensor([0, 1, 0, 2, 2, 1])
    found = control_labels(words, labels, rng).tolist()
    assert found[0] == found[2] == found[5] and found[1] == found[4]
    many = control_labels(range(6000), torch.tensor([0] * 3 + [2]), rng)
    assert (many == 1).sum() == 0
    assert float((many == 0).double().mean()) == pytest.approx(0.75, abs=0.02)


def test_selectivity_tells_knowledge_from_learning_words_by_heart(rng):
    """From one-hot vectors of words both tasks are learned; from their senses only the real one."""
    n_words, n = 8, 1600
    words = torch.randint(n_words, (n,), generator=rng)
    senses = torch.randint(2, (n,), generator=rng)
    onehot = torch.eye(n_words)[words]
    by_heart = probe(onehot, words % 2, words.tolist(), n_train=800, generator=rng)
    assert by_heart == Probed(1.0, 1.0) and by_heart.selectivity == 0
    blind = probe(onehot, senses, words.tolist(), n_train=800, generator=rng)
    assert blind.accuracy < 0.6
    sense = torch.stack([senses.float() * 2 - 1, torch.randn(n, generator=rng)], dim=1)
    knowing = probe(sense, senses, words.tolist(), n_train=800, generator=rng)
    assert knowing.accuracy == 1.0 and knowing.selectivity > 0.2


def test_head_follows_where_its_strongest_weight_lies():
    weights = torch.zeros(1, 2, 4, 4)
    weights[0, 0, 3] = torch.tensor([0.5, 0.1, 0.1, 0.3])
    weights[0, 0, 2] = torch.tensor([0.1, 0.2, 0.7, 0.0])  # itself left out: position 1
    weights[0, 1, 3] = torch.tensor([0.2, 0.4, 0.3, 0.1])
    weights[0, 1, 2] = torch.tensor([0.6, 0.4, 0.0, 0.0])
    found = heads_that_follow([[weights, weights.flip(1)]], [[(3, [0]), (2, [1])]])
    assert found.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    either = heads_that_follow([[weights]], [[(3, [0, 1])]])
    assert either.tolist() == [[1.0, 1.0]]


def test_trace_of_a_bert_has_every_layer():
    trace = trace_of(BERT(bert_tiny(11)), [1, 5, 7, 2])
    assert len(trace.hidden_states) == 3 and len(trace.attention) == 2


@pytest.fixture
def as_readers_run_it():
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def test_bad_input_is_refused(as_readers_run_it):
    x, labels = torch.randn(4, 2), torch.tensor([0, 1, 0, 1])
    weights = [torch.full((1, 1, 3, 3), 0.3)]
    hurt = x.clone()
    hurt[3] = torch.nan  # among the places that are scored
    refusals = [
        (lambda: fit_probe(x, labels[:3], 2), "4 vectors and 3 labels"),
        (lambda: fit_probe(x, labels[:0], 2), "labels is empty"),
        (lambda: fit_probe(x, labels - 100, 2), r"labels has -100; each must be 0 to 1"),
        (lambda: fit_probe(x, labels * 2, 2), r"labels has 2; each must be 0 to 1"),
        (lambda: fit_probe(x, labels.double(), 2), r"labels has shape \(4,\) of torch.float64"),
        (lambda: fit_probe(x[:, 0], labels, 2), r"vectors has shape \(4,\); it must be"),
        (lambda: fit_probe(x * torch.nan, labels, 2), "vectors has a nan"),
        (lambda: fit_probe(x, labels, 0), "n_classes is 0"),
        (lambda: fit_probe(x, labels, 2, decay=0.0), r"decay is 0\.0; it must be positive"),
        (lambda: fit_probe(x, labels, 2, decay=torch.inf), "decay is inf"),
        (lambda: control_labels([], labels), "words is empty"),
        (lambda: control_labels("abcd", -labels), "labels has -1; each must be at least 0"),
        (lambda: probe(x, labels, "abcd", n_train=4), "n_train is 4; it must be 1 to 3"),
        (lambda: probe(x, labels, "abc", n_train=2), "4 vectors, 4 labels and 3 words"),
        (lambda: probe(x, labels[:3], "abc", n_train=2), "4 vectors, 3 labels and 3 words"),
        (lambda: probe(hurt, labels, "abcd", n_train=2), "vectors has a nan"),
        (lambda: heads_that_follow([], []), "links is empty"),
        (lambda: heads_that_follow([weights], []), "1 texts and 0 links"),
        (
            lambda: heads_that_follow([weights], [[(2, [])]]),
            r"a link from 2 goes to \[\]; it needs",
        ),
        (lambda: heads_that_follow([weights], [[(2, [2])]]), "another position than its own"),
        (lambda: heads_that_follow([[weights[0] * torch.nan]], [[(2, [1])]]), "attention has nan"),
        (lambda: heads_that_follow([[torch.ones(2, 1, 3, 3)]], [[(2, [1])]]), r"\(2, 1, 3, 3\)"),
    ]
    for act, message in refusals:
        with pytest.raises(ValueError, match=message):
            act()

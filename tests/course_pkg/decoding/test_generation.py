"""Continuing texts, against transformers and against models that are known exactly."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from course_pkg.decoding.generation import generate
from course_pkg.models.ngram import MLE, NGram

EOS = 0


class TransformersModel(torch.nn.Module):
    """A published architecture behind our contract, with dropout to forget to switch off."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        config = GPT2Config(
            vocab_size=11, n_positions=16, n_embd=12, n_layer=2, n_head=3,
            resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5, bos_token_id=0, eos_token_id=None,
        )  # fmt: skip
        self.inner = GPT2LMHeadModel(config)
        self.vocab_size, self.context_length = 11, 16

    def next_log_probs(self, ids):
        return self.inner(ids).logits[:, -1].log_softmax(-1)


class Cycle:
    """Knows what follows: the next id, round and round. Remembers how much it was shown."""

    vocab_size = 5

    def __init__(self, context_length=None):
        self.context_length = context_length
        self.longest = 0

    def __call__(self, ids, targets=None):
        raise AssertionError("one position is enough to continue a text")

    def next_log_probs(self, ids):
        self.longest = max(self.longest, ids.shape[1])
        follower = (ids[:, -1] + 1) % self.vocab_size
        return torch.nn.functional.one_hot(follower, self.vocab_size).double().log()


def test_greedy_matches_transformers(rng):
    model = TransformersModel().eval()
    ids = torch.randint(11, (3, 4), generator=rng)
    ours = generate(model, ids, 9, temperature=0)
    theirs = model.inner.generate(
        ids, max_new_tokens=9, do_sample=False, attention_mask=torch.ones_like(ids), pad_token_id=0
    )
    assert ours.tolist() == theirs.tolist()


def test_generate_switches_dropout_off_and_leaves_the_mode_alone(rng):
    model = TransformersModel().train()
    ids = torch.randint(11, (3, 4), generator=rng)
    first, second = (generate(model, ids, 9, temperature=0) for _ in range(2))
    assert first.tolist() == second.tolist()
    assert model.training


def test_ngram_samples_only_what_its_corpus_allows(rng):
    model = NGram.fit([[1, 2, 3], [1, 3]], 2, 5, EOS, MLE())
    ids = generate(model, torch.zeros(200, 1, dtype=torch.int64), 12, generator=rng, stop_id=EOS)
    texts = {tuple(row[1 : row[1:].index(EOS) + 1]) for row in ids.tolist() if EOS in row[1:]}
    assert texts == {(1, 2, 3), (1, 3)}


def test_generate_fills_finished_rows_with_the_stop_id():
    ids = generate(Cycle(), torch.tensor([[1], [3]]), 9, temperature=0, stop_id=4)
    # The first row needs three tokens to reach 4, the second one; then all are finished.
    assert ids.tolist() == [[1, 2, 3, 4], [3, 4, 4, 4]]


def test_generate_ignores_the_stop_id_inside_the_prompt():
    ids = generate(Cycle(), torch.tensor([[4, 1]]), 2, temperature=0, stop_id=4)
    assert ids.tolist() == [[4, 1, 2, 3]]


def test_generate_shows_no_more_than_the_context_length():
    model = Cycle(context_length=3)
    ids = generate(model, torch.tensor([[0, 1]]), 7, temperature=0)
    assert ids.tolist() == [[0, 1, 2, 3, 4, 0, 1, 2, 3]]
    assert model.longest == 3


def test_generate_repeats_itself_with_the_same_seed():
    model = NGram.fit([[1, 2, 3, 1, 4, 2], [4, 1, 1, 2]], 3, 5, EOS)
    prompt = torch.zeros(2, 1, dtype=torch.int64)
    first, second, other = (
        generate(model, prompt, 20, generator=torch.Generator().manual_seed(seed)).tolist()
        for seed in (3, 3, 4)
    )
    assert first == second != other


def test_generate_returns_the_prompt_when_nothing_is_asked():
    ids = torch.tensor([[2, 1]])
    assert generate(Cycle(), ids, 0).tolist() == [[2, 1]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_tokens": -1}, "n_tokens is -1"),
        ({"temperature": -0.5}, "temperature is -0.5"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"top_k": 0}, "top_k is 0"),
        ({"top_p": 0.0}, "top_p is 0"),
        ({"top_p": 1.2}, "top_p is 1.2"),
        ({"temperature": 0, "top_p": 1.2}, "top_p is 1.2"),
    ],
)
def test_generate_rejects_options_out_of_range(options, message):
    with pytest.raises(ValueError, match=message):
        generate(Cycle(), torch.tensor([[1]]), **{"n_tokens": 2, **options})


def test_generate_rejects_an_empty_prompt():
    with pytest.raises(ValueError, match=r"ids has shape \(2, 0\); .*empty text begins with eos"):
        generate(Cycle(), torch.zeros(2, 0, dtype=torch.int64), 3)


@pytest.mark.parametrize("temperature", [0, 1.0])
def test_generate_rejects_a_history_after_which_nothing_is_possible(temperature):
    model = NGram.fit([[1, 2, 3]], 2, 5, EOS, MLE())
    with pytest.raises(ValueError, match="row 1 gives every token probability 0"):
        generate(model, torch.tensor([[1], [4]]), 3, temperature=temperature)

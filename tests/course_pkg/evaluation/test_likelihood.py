"""The yardstick: perplexity, bits per byte, windows, streams, intervals."""

import math

import pytest
import torch
from torch import nn

from course_pkg.evaluation.likelihood import (
    Evaluation,
    bits_per_byte,
    bytes_per_token,
    count_bytes,
    evaluate,
    paired_bootstrap,
    perplexity,
    token_log_probs,
)
from course_pkg.models import LanguageModel
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.text.tokenizers import ByteTokenizer, WordTokenizer

V, EOS_ID = 7, 0
DOCUMENTS = [[3, 1, 4], [], [1, 5, 2, 6, 5, 3, 5], [2]]


class Counting(nn.Module):
    """Position-free toy: the logits depend on all ids read so far, so context length shows."""

    def __init__(self, context_length: int | None = None) -> None:
        super().__init__()
        self.vocab_size, self.context_length = V, context_length
        generator = torch.Generator().manual_seed(3)
        self.table = nn.Parameter(torch.randn(V, V, generator=generator, dtype=torch.float64))
        self.widths: list[int] = []

    def forward(self, ids, targets=None):
        self.widths.append(ids.shape[1])
        return self.table[ids].cumsum(dim=1), None

    def next_log_probs(self, ids):
        return self(ids)[0][:, -1].log_softmax(-1)


class Fast(Counting):
    """The same numbers by the optional fast path; the slow one must then not be called."""

    def target_log_probs(self, ids, targets):
        logits = self.table[ids].cumsum(dim=1)
        return -nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")

    def forward(self, ids, targets=None):
        raise AssertionError("the fast path was not taken")


def by_hand(model: Counting, text: list[int], begin: int, at: int) -> float:
    """log p(text[at + 1]) reading text[begin .. at], one cumulated row at a time."""
    logits = sum(model.table[i] for i in text[begin : at + 1])
    return (logits[text[at + 1]] - logits.logsumexp(0)).item()


def test_perplexity_matches_hand_worked_example():
    # geometric mean of 1/2, 1/4, 1/8 is 1/4
    assert perplexity(torch.tensor([0.5, 0.25, 0.125]).log()) == pytest.approx(4.0, abs=1e-6)


def test_perplexity_of_uniform_model_is_vocab_size():
    model = Counting()
    nn.init.zeros_(model.table)
    found = evaluate(model, DOCUMENTS, eos_id=EOS_ID)
    assert found.perplexity == pytest.approx(V, abs=1e-10)
    assert found.n_tokens == sum(map(len, DOCUMENTS)) + len(DOCUMENTS)


def test_perplexity_is_infinite_when_a_token_has_no_probability():
    assert perplexity(torch.tensor([-1.0, -math.inf])) == math.inf
    assert Evaluation(math.inf, 3, 5).bits_per_byte == math.inf
    assert Evaluation(1e4, 3).perplexity == math.inf  # too large for a float


@pytest.mark.parametrize(("wrong", "shown"), [(0.5, "0.5"), (math.nan, "nan")])
def test_perplexity_rejects_what_is_no_log_probability(wrong, shown):
    with pytest.raises(ValueError, match=shown):
        perplexity(torch.tensor([-1.0, wrong]))


def test_bits_per_byte_matches_hand_worked_example():
    # 3 tokens at 1/16 are 12 bits; over 6 bytes that is 2
    assert bits_per_byte(3 * math.log(16), 6) == pytest.approx(2.0, abs=1e-12)
    found = Evaluation(nats_per_token=math.log(16), n_tokens=3, n_bytes=6)
    assert found.bits_per_byte == pytest.approx(2.0, abs=1e-12)
    assert Evaluation(1.0, 3).bits_per_byte is None
    with pytest.raises(ValueError, match="n_bytes is 0"):
        bits_per_byte(1.0, 0)


def test_evaluation_scores_each_document_after_eos_alone():
    model = Counting()
    scores = token_log_probs(model, DOCUMENTS, eos_id=EOS_ID, batch_size=3)
    for document, row in zip(DOCUMENTS, scores, strict=True):
        text = [EOS_ID, *document, EOS_ID]
        expected = [by_hand(model, text, 0, at) for at in range(len(text) - 1)]
        # float64 sums in another order
        assert row.tolist() == pytest.approx(expected, abs=1e-10)


def test_evaluation_as_stream_reads_earlier_documents():
    model = Counting()
    stream = [EOS_ID] + [i for document in DOCUMENTS for i in (*document, EOS_ID)]
    expected = [by_hand(model, stream, 0, at) for at in range(len(stream) - 1)]
    scores = token_log_probs(model, DOCUMENTS, eos_id=EOS_ID, as_stream=True)
    assert [len(row) for row in scores] == [len(d) + 1 for d in DOCUMENTS]
    assert torch.cat(scores).tolist() == pytest.approx(expected, abs=1e-10)
    found = evaluate(model, DOCUMENTS, eos_id=EOS_ID, as_stream=True)
    assert found.convention == "one stream"
    assert found.n_tokens == evaluate(model, DOCUMENTS, eos_id=EOS_ID).n_tokens


@pytest.mark.parametrize(("context_length", "stride"), [(3, 1), (4, None), (5, 3), (5, 5), (1, 1)])
def test_evaluation_slides_windows_with_promised_context(context_length, stride):
    model = Counting(context_length)
    text = [EOS_ID, *[1 + i % 6 for i in range(17)], EOS_ID]
    scores = token_log_probs(model, [text[1:-1]], eos_id=EOS_ID, batch_size=2, stride=stride)[0]
    assert max(model.widths) <= context_length
    stride = stride or context_length // 2
    for at, score in enumerate(scores.tolist()):
        # each prediction equals the one made by some window of the promised size
        least = min(at + 1, context_length - stride + 1)
        begins = range(max(0, at + 1 - context_length), at + 2 - least)
        assert any(abs(score - by_hand(model, text, b, at)) < 1e-10 for b in begins), at


def test_evaluation_with_stride_one_gives_every_token_full_context():
    model = Counting(4)
    text = [EOS_ID, *[1 + i * i % 6 for i in range(11)], EOS_ID]
    scores = token_log_probs(model, [text[1:-1]], eos_id=EOS_ID, stride=1)[0]
    expected = [by_hand(model, text, max(0, at - 3), at) for at in range(len(text) - 1)]
    assert scores.tolist() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("batch_size", [1, 2, 5])
def test_evaluation_ignores_batch_size(batch_size):
    model = Counting(5)
    one, other = (evaluate(model, DOCUMENTS, eos_id=EOS_ID, batch_size=b) for b in (batch_size, 3))
    assert one.nats_per_token == pytest.approx(other.nats_per_token, abs=1e-12)


def test_evaluation_takes_the_fast_path_with_equal_result():
    slow, fast = (evaluate(m, DOCUMENTS, eos_id=EOS_ID) for m in (Counting(), Fast()))
    assert fast.nats_per_token == pytest.approx(slow.nats_per_token, abs=1e-12)


def test_evaluation_carries_the_state_of_a_recurrent_model(monkeypatch):
    monkeypatch.setattr("course_pkg.evaluation.likelihood._PIECE", 3)
    model = RecurrentLM(V, 5, 6, generator=torch.Generator().manual_seed(1)).double()
    whole = token_log_probs(model, DOCUMENTS, eos_id=EOS_ID)
    for document, row in zip(DOCUMENTS, whole, strict=True):
        ids = torch.tensor([[EOS_ID, *document]])
        targets = torch.tensor([[*document, EOS_ID]])
        loss = model(ids, targets)[1]
        assert -row.mean().item() == pytest.approx(loss.item(), abs=1e-10)


def test_evaluation_leaves_training_mode_as_it_was_but_does_not_use_it():
    model = RecurrentLM(V, 5, 6, dropout=0.5, generator=torch.Generator().manual_seed(1))
    model.train()
    first, second = (evaluate(model, DOCUMENTS, eos_id=EOS_ID) for _ in range(2))
    assert model.training
    assert first == second


def test_evaluation_is_infinite_when_the_model_excludes_a_token():
    model = Counting()
    with torch.no_grad():
        model.table[:, 6] = -math.inf
    assert evaluate(model, DOCUMENTS, eos_id=EOS_ID).perplexity == math.inf


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_evaluation_refuses_a_model_that_sees_what_follows(dtype):
    model = GPT(gpt_tiny(V), generator=torch.Generator().manual_seed(0)).to(dtype).train()
    assert evaluate(model, DOCUMENTS, eos_id=EOS_ID).perplexity == pytest.approx(V, rel=0.2)
    model.stack.is_causal = False
    with pytest.raises(ValueError, match=r"model is GPT; .* token 7 of a text .* mask missing"):
        evaluate(model, DOCUMENTS, eos_id=EOS_ID)
    assert model.training
    # Without a second token nothing can be seen, so there is nothing to refuse.
    assert evaluate(model, [[]], eos_id=EOS_ID).n_tokens == 1


def test_evaluation_holds_logits_of_one_row_twice_at_most(monkeypatch):
    seen = []
    log_softmax = torch.Tensor.log_softmax
    monkeypatch.setattr(
        torch.Tensor,
        "log_softmax",
        lambda x, *a: seen.append((x.shape, x.dtype)) or log_softmax(x, *a),
    )
    model = GPT(gpt_tiny(V)).bfloat16()
    token_log_probs(model, [[1, 2, 3], [3, 2, 1]], eos_id=EOS_ID)
    assert seen == [((4, V), torch.float32)] * 2


def test_evaluation_rejects_bad_input():
    model = Counting(4)
    assert isinstance(model, LanguageModel)
    with pytest.raises(ValueError, match="documents is empty"):
        evaluate(model, [], eos_id=EOS_ID)
    with pytest.raises(ValueError, match="document 1 has id 7; the model knows ids below 7"):
        evaluate(model, [[1], [2, 7]], eos_id=EOS_ID)
    with pytest.raises(ValueError, match="stride is 5"):
        evaluate(model, DOCUMENTS, eos_id=EOS_ID, stride=5)
    with pytest.raises(ValueError, match="batch_size is 0"):
        evaluate(model, DOCUMENTS, eos_id=EOS_ID, batch_size=0)
    with pytest.raises(ValueError, match="context_length is 0"):
        evaluate(model, DOCUMENTS, eos_id=EOS_ID, context_length=0)
    with torch.no_grad():
        model.table[1] = math.nan
    with pytest.raises(ValueError, match="nan"):
        evaluate(model, DOCUMENTS, eos_id=EOS_ID)


def test_bytes_per_token_matches_hand_worked_example():
    words = WordTokenizer.train(["né à Rome."])
    assert count_bytes(["né à Rome.", "é"]) == 12 + 2
    assert bytes_per_token(words, ["né à Rome."]) == 12 / 4
    assert bytes_per_token(ByteTokenizer(), ["né à Rome."]) == 1
    with pytest.raises(ValueError, match="no token"):
        bytes_per_token(words, [" "])


def test_paired_bootstrap_matches_normal_theory():
    generator = torch.Generator().manual_seed(5)
    gap = torch.randn(400, generator=generator, dtype=torch.float64) + 0.3
    base = torch.randn(400, generator=generator, dtype=torch.float64) * 9  # shared, so it cancels
    found = paired_bootstrap((base + gap).tolist(), base.tolist(), n_samples=4000)
    half = 1.96 * gap.std().item() / 20
    assert found.difference == pytest.approx(gap.mean().item(), abs=1e-10)
    # 4000 samples put a 95 % quantile within about 4 % of the half width: 10 % is ample
    assert found.low == pytest.approx(found.difference - half, abs=0.1 * half)
    assert found.high == pytest.approx(found.difference + half, abs=0.1 * half)


def test_paired_bootstrap_weighs_items_by_their_size():
    found = paired_bootstrap([6.0, 2.0], [3.0, 1.0], weights=[3, 1], n_samples=50)
    assert (found.difference, found.low, found.high) == (1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="first has 2 items and second 1"):
        paired_bootstrap([1, 2], [1])
    with pytest.raises(ValueError, match="weights has 1"):
        paired_bootstrap([1, 2], [1, 2], weights=[1])
    with pytest.raises(ValueError, match="confidence is 1"):
        paired_bootstrap([1, 2], [1, 2], confidence=1.0)

"""What models make of a text as it stands, against transformers and against sums by hand."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from transformers.models.bert import BertConfig, BertForMaskedLM

from course_pkg.evaluation.likelihood import token_log_probs
from course_pkg.evaluation.scoring import (
    answer_log_probs,
    prefers_first,
    pseudo_log_probs,
    pseudo_perplexity,
)
from course_pkg.models.bert import BERT
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.ngram import NGram
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.weights.pretrained import bert_weights, gpt2_weights

V, CONTEXT = 13, 9
CLS, SEP, MASK = 1, 2, 3
DOCUMENTS = [[7, 4, 12, 5], [9], [4, 4, 11, 6, 8, 10, 5]]
FRAME = {"mask_id": MASK, "first_id": CLS, "last_id": SEP}


def masked_model(rng) -> tuple[BERT, BertForMaskedLM]:
    """The same weights in our BERT and in the library's."""
    sizes = {"d_model": 12, "n_heads": 3, "n_layers": 2, "d_ff": 20, "block": "post_norm"}
    ours = BERT(TransformerConfig(vocab_size=V, context_length=CONTEXT, **sizes)).double()
    theirs = BertForMaskedLM(
        BertConfig(
            vocab_size=V,
            hidden_size=12,
            num_hidden_layers=2,
            num_attention_heads=3,
            intermediate_size=20,
            max_position_embeddings=CONTEXT,
        )
    ).double()
    for parameter in theirs.parameters():
        parameter.data.normal_(std=0.4, generator=rng)
    weights = bert_weights(dict(theirs.named_parameters()))
    ours.load_state_dict(weights, strict=False)  # it also has a pooler and a pair head
    return ours, theirs.eval()


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_pseudo_log_probs_match_transformers_with_each_token_masked_in_turn(rng, batch_size):
    ours, theirs = masked_model(rng)
    scores = pseudo_log_probs(ours, DOCUMENTS, **FRAME, batch_size=batch_size)
    total = 0.0
    for document, row in zip(DOCUMENTS, scores, strict=True):
        for place, token in enumerate(document, 1):
            ids = torch.tensor([[CLS, *document, SEP]])
            ids[0, place] = MASK
            with torch.no_grad():
                expected = theirs(ids).logits[0, place].log_softmax(-1)[token]
            # float64 through two layers, summed in another order
            assert row[place - 1].item() == pytest.approx(expected.item(), abs=1e-10)
            total += expected.item()
    n_tokens = sum(map(len, DOCUMENTS))
    expected = torch.tensor(-total / n_tokens).exp().item()
    assert pseudo_perplexity(ours, DOCUMENTS, **FRAME) == pytest.approx(expected, rel=1e-6)


def test_pseudo_log_prob_of_a_token_does_not_see_that_token(rng):
    """One token differs: only the predictions elsewhere may change, and that place's score."""
    ours, _ = masked_model(rng)
    probs = torch.tensor(
        [pseudo_log_probs(ours, [[5, token, 8]], **FRAME)[0][1] for token in range(V)]
    ).exp()
    # scored one by one, the tokens that may stand there share a probability of one
    assert probs.sum().item() == pytest.approx(1.0, abs=1e-6)


def test_pseudo_log_probs_are_taken_in_evaluation_mode_and_the_mode_is_kept(rng):
    ours, _ = masked_model(rng)
    ours.dropout.p = 0.5
    ours.train()
    first, again = (pseudo_perplexity(ours, DOCUMENTS, **FRAME) for _ in range(2))
    assert first == again
    assert ours.training


def test_pseudo_log_probs_reject_what_cannot_be_read(rng):
    ours, _ = masked_model(rng)
    with pytest.raises(ValueError, match=r"document 1 has 8 tokens; it must have 1 to 7"):
        pseudo_log_probs(ours, [[4], [5] * 8], **FRAME)
    with pytest.raises(ValueError, match=r"document 0 has 0 tokens"):
        pseudo_perplexity(ours, [[]], **FRAME)
    with pytest.raises(ValueError, match="is empty"):
        pseudo_perplexity(ours, [], **FRAME)


EOS = 0


def causal_model(rng) -> tuple[GPT, GPT2LMHeadModel]:
    sizes = {"n_positions": 8, "n_embd": 12, "n_layer": 2, "n_head": 3}
    theirs = GPT2LMHeadModel(GPT2Config(vocab_size=V, **sizes)).double().eval()
    for parameter in theirs.parameters():
        parameter.data.normal_(std=0.4, generator=rng)
    ours = GPT(replace(gpt_tiny(V, 8), d_model=12, n_heads=3, n_layers=2, d_ff=48)).double()
    ours.load_state_dict(gpt2_weights(theirs.state_dict()))
    return ours.eval(), theirs


@pytest.mark.parametrize("prompt", [[], [5], [5, 9, 2], [7, 3, 1, 12, 4, 6, 6, 2, 8]])
def test_answer_log_probs_match_transformers(rng, prompt):
    """Of a prompt too long for the context, its end is read after eos."""
    ours, theirs = causal_model(rng)
    answers = [[4], [11, 3], [2, 2, 10, 1]]
    found = answer_log_probs(ours, prompt, answers, eos_id=EOS)
    for answer, score in zip(answers, found.tolist(), strict=True):
        text = [EOS, *[*prompt, *answer][-8:]]
        read = torch.tensor([text[:-1]])
        with torch.no_grad():
            log_probs = theirs(read).logits[0].log_softmax(-1)
        expected = sum(
            log_probs[read.shape[1] - n, text[-n]].item() for n in range(1, len(answer) + 1)
        )
        assert score == pytest.approx(expected, abs=1e-10)


def test_few_examples_tell_a_counting_model_what_is_asked():
    """After "a" comes a letter by chance, after two solved examples the one that they show."""
    model = NGram.fit([[1, 2, 3, 1, 2, 3, 1, 2], [1, 3, 2, 1, 3, 2, 1, 3]], 4, 5, eos_id=EOS)
    zero = answer_log_probs(model, [1], [[2], [3]], eos_id=EOS)
    assert zero[0] == pytest.approx(zero[1].item())
    for example, best in (([1, 2, 3], 0), ([1, 3, 2], 1)):
        few = answer_log_probs(model, [*example, 1], [[2], [3]], eos_id=EOS)
        assert int(few.argmax()) == best


def test_answers_that_cannot_be_scored_are_refused(rng):
    ours, _ = causal_model(rng)
    with pytest.raises(ValueError, match="answer 1 has 0 tokens; it must have 1 to 8"):
        answer_log_probs(ours, [1], [[2], []], eos_id=EOS)
    with pytest.raises(ValueError, match="answer 0 has 9 tokens"):
        answer_log_probs(ours, [1], [[2] * 9], eos_id=EOS)
    with pytest.raises(ValueError, match="answers is empty"):
        answer_log_probs(ours, [1], [], eos_id=EOS)


def test_preference_adds_up_what_the_sentences_share_or_all_of_it():
    """By a table: token t has log-probability -t, twice that beside a token 9."""

    def score(documents):
        return [
            torch.tensor([-1.0 * t * (2 if 9 in d else 1) for t in d], dtype=torch.float64)
            for d in documents
        ]

    pairs = [([3, 9, 4], [3, 30, 4]), ([2, 2], [2, 1, 2])]
    # -32 to -37; -4 to -5
    assert prefers_first(score, pairs) == [True, True]
    # without what differs: -14 to -7; -4 to -4, a tie
    assert prefers_first(score, pairs, shared_only=True) == [False, False]


def test_preference_takes_masked_and_causal_models(rng):
    masked, _ = masked_model(rng)
    causal, _ = causal_model(rng)
    pairs = [([5, 8, 4], [5, 11, 4]), ([6, 6], [6, 7])]
    for score in (
        partial(token_log_probs, causal, eos_id=EOS),
        partial(pseudo_log_probs, masked, **FRAME),
    ):
        found = prefers_first(score, pairs)
        turned = prefers_first(score, [(second, first) for first, second in pairs])
        assert found == [not first for first in turned]
        totals = [[float(row.sum()) for row in score(pair)] for pair in pairs]
        assert found == [first > second for first, second in totals]
    with pytest.raises(ValueError, match="pair 1 has the same sentence twice"):
        prefers_first(score, [([1], [2]), ([3], [3])])
    with pytest.raises(ValueError, match="pairs is empty"):
        prefers_first(score, [])

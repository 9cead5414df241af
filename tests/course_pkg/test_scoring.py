"""What models make of a text as it stands, against transformers and against sums by hand."""

import pytest
import torch
from transformers.models.bert import BertConfig, BertForMaskedLM

from course_pkg.models.bert import BERT
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.pretrained import bert_weights
from course_pkg.scoring import pseudo_log_probs, pseudo_perplexity

V, CONTEXT = 13, 9
CLS, SEP, MASK = 1, 2, 3
DOCUMENTS = [[7, 4, 12, 5], [9], [4, 4, 11, 6, 8, 10, 5]]
FRAME = {"mask_id": MASK, "first_id": CLS, "last_id": SEP}


def masked_model(rng) -> tuple[BERT, BertForMaskedLM]:
    """The same weights in our BERT and in the library's."""
    sizes = {"d_model": 12, "n_heads": 3, "n_layers": 2, "d_ff": 20, "is_pre_norm": False}
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

"""SpanBERT by hand, ELECTRA and XLNet against transformers; each learns ten sentences."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from transformers.models.electra import ElectraConfig, ElectraForPreTraining
from transformers.models.xlnet import XLNetConfig, XLNetModel

from course_pkg.models import IGNORE
from course_pkg.models.bert import BERT, bert_tiny
from course_pkg.models.bert_objectives import (
    PermutationLoss,
    ReplacedTokenLoss,
    SpanBoundaryLoss,
    span_edges,
)
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.weights.pretrained import bert_weights

B, T, V, H, L, D, D_FF, CONTEXT = 2, 7, 11, 3, 2, 12, 20, 9
MASK_ID = V - 1
EXACT = {"rtol": 1e-10, "atol": 1e-10}
REAL = torch.arange(T) < torch.tensor([7, 5]).unsqueeze(-1)


def small_bert(rng, *, has_heads=True, **changes):
    sizes = {"vocab_size": V, "context_length": CONTEXT, "d_model": D, "n_heads": H}
    sizes |= {"n_layers": L, "d_ff": D_FF, "block": "post_norm"} | changes
    model = BERT(TransformerConfig(**sizes), has_heads=has_heads).double()
    return drawn(model, rng)


def drawn(model, rng):
    for parameter in model.parameters():
        parameter.data.normal_(std=0.4, generator=rng)
    return model


def random_text(rng):
    return torch.randint(V - 1, (B, T), generator=rng)


class TestSpanBoundary:
    def test_edges_are_the_nearest_places_that_are_not_hidden(self):
        hidden = torch.tensor([[0, 0, 1, 1, 0, 1, 0], [0, 1, 1, 1, 1, 1, 0]]).bool()
        left, right = span_edges(hidden)
        assert left[hidden].tolist() == [1, 1, 4, 0, 0, 0, 0, 0]
        assert right[hidden].tolist() == [4, 4, 6, 6, 6, 6, 6, 6]

    def test_second_guess_follows_the_equations_of_the_paper(self, rng):
        """Joshi et al. 2020, section 3.2, one token after the other."""
        training = drawn(SpanBoundaryLoss(small_bert(rng)).double(), rng)
        ids, truth = random_text(rng), random_text(rng)
        spans = [(0, 2, 3), (1, 1, 1), (1, 3, 5)]  # row, first, last; padding begins after them
        targets = torch.full((B, T), IGNORE)
        for row, first, last in spans:
            targets[row, first : last + 1] = truth[row, first : last + 1]
        mask = torch.ones(B, T).bool()
        x = training.model.encode(ids, mask=mask)
        w1, _, norm1, w2, _, norm2 = training.boundary_head
        expected, wanted = [], []
        for row, first, last in spans:
            for place in range(first, last + 1):
                position = training.place_embedding.weight[place - first]
                h = torch.cat([x[row, first - 1], x[row, last + 1], position])
                for layer, norm in ((w1, norm1), (w2, norm2)):
                    h = layer.weight @ h + layer.bias
                    h = h * 0.5 * (1 + torch.erf(h / 2**0.5))  # GELU
                    h = (h - h.mean()) / (h.var(unbiased=False) + 1e-5).sqrt()
                    h = h * norm.weight + norm.bias
                expected.append(training.model.embedding.weight @ h)
                wanted.append(int(truth[row, place]))
        logits, loss = training(ids, targets, mask=mask)
        torch.testing.assert_close(logits, torch.stack(expected), **EXACT)
        boundary = F.cross_entropy(torch.stack(expected), torch.tensor(wanted))
        masked_lm = training.model(ids, mask=mask, targets=targets).loss
        torch.testing.assert_close(loss, masked_lm + boundary, **EXACT)

    def test_span_without_an_edge_is_refused(self, rng):
        training = SpanBoundaryLoss(small_bert(rng)).double()
        with pytest.raises(ValueError, match=r"begins or ends with a target; \[CLS\]"):
            training(random_text(rng), random_text(rng))


class TestReplacedTokens:
    def test_detection_matches_transformers(self, rng):
        config = ElectraConfig(
            vocab_size=V, embedding_size=D, hidden_size=D, num_hidden_layers=L, pad_token_id=None,
            num_attention_heads=H, intermediate_size=D_FF, max_position_embeddings=CONTEXT,
        )  # fmt: skip
        oracle = drawn(ElectraForPreTraining(config).double().eval(), rng)
        training = ReplacedTokenLoss(small_bert(rng, has_heads=False), small_bert(rng)).double()
        weights = {
            name.removeprefix("electra."): tensor
            for name, tensor in oracle.state_dict().items()
            if name.startswith("electra.")
        }
        unused = {f"pooler.dense.{n}": training.model.pooler.state_dict()[n] for n in
                  ("weight", "bias")}  # fmt: skip
        training.model.load_state_dict(bert_weights(weights | unused))
        head = oracle.discriminator_predictions
        training.detector_head[0].load_state_dict(head.dense.state_dict())
        training.detector_head[2].load_state_dict(head.dense_prediction.state_dict())

        ids, truth = random_text(rng), random_text(rng)
        targets = truth.masked_fill(torch.rand(B, T, generator=rng) < 0.6, IGNORE)
        read = []
        training.model.embedding.register_forward_pre_hook(lambda _, given: read.append(given[0]))
        logits, loss = training(ids, targets, mask=REAL)[:2]
        hidden = targets != IGNORE
        assert torch.equal(read[0][~hidden], ids[~hidden])
        is_replaced = read[0] != truth.where(hidden, ids)
        expected = oracle(read[0], attention_mask=REAL.long(), labels=is_replaced.long())
        torch.testing.assert_close(logits[REAL], expected.logits[REAL], **EXACT)
        # transformers computes the loss in float32
        _, generator_loss = training.masked_lm(ids, targets, mask=REAL)
        both = generator_loss + 50 * expected.loss
        torch.testing.assert_close(loss, both, rtol=1e-5, atol=1e-5)

    def test_samples_follow_the_generator_and_right_ones_count_as_original(self, rng):
        """A generator that gives the truth 3 of 4 times is caught in a quarter of its places."""

        class Generator(nn.Module):
            def forward(self, ids, targets, **rest):
                n = int((targets != IGNORE).sum())
                share = torch.tensor([0.25, 0.75] + [1e-9] * (V - 2))
                return share.log().expand(n, V), torch.zeros(())

        torch.manual_seed(5)
        training = ReplacedTokenLoss(small_bert(rng), small_bert(rng)).double()
        training.masked_lm = Generator()
        seen = []
        vector = torch.zeros(D).double()
        training.model.encode = lambda ids, **_: seen.append(ids) or vector.expand(*ids.shape, D)
        training.detector_head[2].weight.data.zero_()
        nn.init.constant_(training.detector_head[2].bias, 0.3)
        ids, targets = torch.full((4, 500), 5), torch.full((4, 500), 1)
        targets[:, ::2] = IGNORE
        _, loss = training(ids, targets)[:2]
        share = (seen[0][:, 1::2] == 0).double().mean()
        assert float(share) == pytest.approx(0.25, abs=0.04)  # of 1,000 draws
        assert bool((seen[0][:, ::2] == 5).all())
        replaced, kept = -F.logsigmoid(torch.tensor(0.3)), -F.logsigmoid(torch.tensor(-0.3))
        assert loss.item() == pytest.approx(
            50 * float(share / 2 * replaced + (1 - share / 2) * kept), rel=1e-5
        )

    def test_no_gradient_of_detection_reaches_the_generator(self, rng):
        training = ReplacedTokenLoss(small_bert(rng), small_bert(rng)).double()
        ids = random_text(rng)
        weights = list(training.masked_lm.parameters())
        _, loss = training(ids, ids)[:2]
        _, alone = training.masked_lm(ids, ids)
        found = torch.autograd.grad(loss, weights, allow_unused=True)
        expected = torch.autograd.grad(alone, weights, allow_unused=True)
        for ours, theirs in zip(found, expected, strict=True):
            assert (ours is None) == (theirs is None)
            assert ours is None or torch.allclose(ours, theirs, **EXACT)

    def test_text_in_which_nothing_is_hidden_is_all_original(self, rng):
        training = ReplacedTokenLoss(small_bert(rng), small_bert(rng)).double()
        ids = random_text(rng)
        logits, loss = training(ids, torch.full_like(ids, IGNORE))[:2]
        expected = F.binary_cross_entropy_with_logits(logits, torch.zeros_like(logits))
        torch.testing.assert_close(loss, 50 * expected, **EXACT)

    def test_vocabularies_that_differ_are_refused(self, rng):
        with pytest.raises(ValueError, match="masked_lm has 12 tokens; model has 11"):
            ReplacedTokenLoss(small_bert(rng), small_bert(rng, vocab_size=12))


class TestPermutation:
    def test_two_streams_match_transformers(self, rng):
        """XLNet without what Transformer-XL adds to scores: its position vectors are zero."""
        config = XLNetConfig(
            vocab_size=V, d_model=D, n_layer=L, n_head=H, d_inner=D_FF, dropout=0.0
        )
        oracle = drawn(XLNetModel(config).eval(), rng)
        model = small_bert(rng, positions="none").float()
        for theirs, ours in zip(oracle.layer, model.stack.blocks, strict=True):
            attention = theirs.rel_attn
            attention.r.data.zero_()
            for name, part in (("q", "query"), ("k", "key"), ("v", "value")):
                layer = getattr(ours.attention, part)
                layer.weight.data = getattr(attention, name).data.flatten(1).T.contiguous()
                layer.bias.data.zero_()
            ours.attention.query.bias.data = attention.r_w_bias.data.flatten()
            ours.attention.output.weight.data = attention.o.data.flatten(1)
            ours.attention.output.bias.data.zero_()
            ours.norms[0].load_state_dict(attention.layer_norm.state_dict())
            ours.feed_forward.expand.load_state_dict(theirs.ff.layer_1.state_dict())
            ours.feed_forward.contract.load_state_dict(theirs.ff.layer_2.state_dict())
            ours.norms[1].load_state_dict(theirs.ff.layer_norm.state_dict())
        ids = random_text(rng)
        ranks = torch.stack([torch.randperm(T, generator=rng) for _ in range(B)])
        oracle.mask_emb.data = model.embed(torch.tensor([[MASK_ID]])).detach()
        expected = oracle(
            inputs_embeds=model.embed(ids),
            attention_mask=REAL.float(),
            perm_mask=(ranks.unsqueeze(1) >= ranks.unsqueeze(2)).float(),
            target_mapping=torch.eye(T).expand(B, T, T),
        ).last_hidden_state
        logits, _ = PermutationLoss(model, mask_id=MASK_ID)(ids, ranks=ranks, mask=REAL)
        # A query that sees nobody gets zeros from us, and the mean of all there, itself included.
        earlier = (ranks.unsqueeze(1) < ranks.unsqueeze(2)) & REAL.unsqueeze(1)
        sees = earlier.any(dim=-1) & REAL
        assert int(sees.sum()) == 10
        expected = model.token_logits(expected)  # float32: transformers knows positions in no other
        torch.testing.assert_close(logits[sees], expected[sees], rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize("positions", ["learned", "rotary"])
    def test_a_prediction_changes_with_earlier_tokens_alone(self, rng, positions):
        size = {"d_model": 24} if positions == "rotary" else {}  # an even width of each head
        training = PermutationLoss(small_bert(rng, positions=positions, **size), mask_id=MASK_ID)
        ids, ranks = random_text(rng)[:1], torch.tensor([[4, 0, 6, 2, 1, 5, 3]])
        before, _ = training(ids, ranks=ranks)
        for place in range(T):
            changed = ids.clone()
            changed[0, place] = (ids[0, place] + 1) % (V - 1)
            moved = (training(changed, ranks=ranks)[0] - before).abs().amax(dim=-1)[0] > 1e-9
            assert moved.tolist() == (ranks[0] > ranks[0, place]).tolist()

    def test_in_every_order_the_probabilities_of_all_texts_sum_to_one(self, rng):
        training = PermutationLoss(small_bert(rng, vocab_size=3), mask_id=2)
        texts = torch.tensor(list(product(range(3), repeat=3)))
        for order in ([0, 1, 2], [2, 0, 1]):
            logits, _ = training(texts, ranks=torch.tensor([order]).expand(27, 3))
            chosen = logits.log_softmax(dim=-1).gather(-1, texts.unsqueeze(-1)).squeeze(-1)
            assert float(chosen.sum(dim=1).exp().sum().detach()) == pytest.approx(1, abs=1e-10)

    def test_places_are_known_though_tokens_are_not(self, rng):
        """The same context for two places: with rotary positions only their places differ."""
        training = PermutationLoss(small_bert(rng, positions="rotary", d_model=24), mask_id=MASK_ID)
        ranks = torch.tensor([[0, 0, 0, 0, 1, 1, 1]])
        logits, loss = training(random_text(rng)[:1], ranks=ranks)
        assert loss is None
        assert (logits[0, 4] - logits[0, 5]).abs().max() > 1e-3

    def test_positions_that_count_along_the_row_are_refused(self, rng):
        with pytest.raises(ValueError, match="positions is 'alibi'; it counts distances"):
            PermutationLoss(small_bert(rng, positions="alibi"), mask_id=MASK_ID)


@pytest.mark.parametrize(
    ("kind", "n_sentences", "n_steps"),
    [("spans", 10, 90), ("permuted", 10, 90), ("replaced", 3, 100)],
)
def test_objective_learns_a_few_sentences(rng, kind, n_sentences, n_steps):
    """Two tokens of each sentence in turn; the rest of the sentence gives them away."""
    config = replace(bert_tiny(V + 2, T + 2), d_model=32, d_ff=64, block="pre_norm")
    model = BERT(config, generator=rng)
    text = F.pad(torch.randint(V - 1, (n_sentences, T), generator=rng), (1, 1), value=V)
    hidden = torch.eye(T + 2, dtype=torch.bool)[1:T]
    hidden = (hidden | hidden.roll(1, dims=1)).repeat(
        n_sentences, 1
    )  # each pair of places of each sentence
    truth = text.repeat_interleave(T - 1, dim=0)
    batch = {"ids": truth.masked_fill(hidden, MASK_ID), "targets": truth.where(hidden, IGNORE)}
    if kind == "spans":
        training = SpanBoundaryLoss(model, generator=rng)
    elif kind == "permuted":
        training = PermutationLoss(model, mask_id=MASK_ID)
        batch |= {"ids": truth, "ranks": hidden.long()}
    else:
        torch.manual_seed(0)
        guesser = BERT(replace(config, d_model=4, n_heads=1, n_layers=1), generator=rng)
        training = ReplacedTokenLoss(model, guesser, generator=rng)
        training.masked_lm.requires_grad_(False)  # or there would soon be no mistakes to learn from
    optimizer = torch.optim.AdamW(training.parameters(), lr=5e-3)
    for _ in range(n_steps):
        logits, loss = training(**batch)[:2]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if kind == "replaced":
        fake = text.clone()
        fake[:, 4] = (fake[:, 4] + 1) % (V - 1)
        found = training.detect(fake)
        assert found[fake != text].mean() > 1 and found[fake == text].mean() < -1
    else:
        found = (logits if kind == "spans" else logits[hidden]).argmax(dim=-1)
        assert (found == truth[hidden]).float().mean() > 0.95

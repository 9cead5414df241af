"""Heads on pretrained models, freezing and LoRA, by their properties and against transformers."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from course_pkg.layers.attention import AdditiveScore
from course_pkg.models import IGNORE
from course_pkg.models.adaptation import (
    Features,
    LoRALinear,
    MultipleChoice,
    TextClassifier,
    TokenTagger,
    add_lora,
    add_tokens,
    merge_lora,
)
from course_pkg.models.attention import AttentionLM
from course_pkg.models.bert import BERT, bert_tiny, deberta_tiny
from course_pkg.models.bert_objectives import ReplacedTokenLoss, SpanBoundaryLoss
from course_pkg.models.gpt import GPT, gpt_tiny, llama_like_small
from course_pkg.models.loss import nats_per_target
from course_pkg.models.recurrent import RecurrentLM
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer import EncoderDecoder, transformer_tiny
from course_pkg.models.window import FixedWindowLM

B, T, V, C = 2, 5, 11, 3
KINDS = ("gpt", "bert")


def backbone(kind: str, dropout: float = 0.0) -> GPT | BERT:
    generator = torch.Generator().manual_seed(7)
    if kind == "gpt":
        return GPT(gpt_tiny(V), dropout=dropout, generator=generator).double()
    return BERT(bert_tiny(V), has_heads=False, dropout=dropout, generator=generator).double()


@pytest.fixture
def text(rng):
    return torch.randint(V, (B, T), generator=rng), torch.tensor([3, 5])


@pytest.mark.parametrize("kind", KINDS)
def test_text_classifier_ignores_padding(kind, text):
    ids, lengths = text
    classifier = TextClassifier(backbone(kind), C).double().eval()
    logits, _ = classifier(ids, lengths=lengths)
    other = ids.clone()
    other[0, 3:] = (other[0, 3:] + 1) % V
    torch.testing.assert_close(classifier(other, lengths=lengths)[0], logits, rtol=0, atol=1e-10)
    alone, _ = classifier(ids[:1, :3], lengths=lengths[:1])
    torch.testing.assert_close(alone, logits[:1], rtol=0, atol=1e-10)


def test_text_classifier_of_a_gpt_matches_transformers(text):
    from transformers import GPT2Config, GPT2ForSequenceClassification

    # Its own way to find the last token is the pad id, so we give the padding an id of its own.
    ids, lengths = text
    pad = V - 1
    ids = (ids % pad).masked_fill(torch.arange(T) >= lengths[:, None], pad)
    config = GPT2Config(
        vocab_size=V, n_positions=64, n_embd=64, n_layer=2, n_head=4, num_labels=C, pad_token_id=pad
    )
    theirs = GPT2ForSequenceClassification(config).double().eval()
    ours = TextClassifier(backbone("gpt"), C).double().eval()
    # The body's parity is tested with GPT; here only which vector the head reads is in question.
    body = theirs.transformer(ids).last_hidden_state
    ours.features.forward = lambda ids, lengths, segments=None: body
    with torch.no_grad():
        ours.output.weight.copy_(theirs.score.weight)
    torch.testing.assert_close(
        ours(ids, lengths=lengths)[0], theirs(ids).logits, rtol=0, atol=1e-10
    )


@pytest.mark.parametrize("kind", KINDS)
def test_mean_pooling_averages_the_real_tokens_only(kind, text):
    ids, lengths = text
    features = Features(backbone(kind), pooling="mean").double().eval()
    pooled = features.of_text(ids, lengths)
    for row, length in enumerate(lengths.tolist()):
        alone = features(ids[row : row + 1, :length], lengths[row : row + 1])
        torch.testing.assert_close(pooled[row], alone[0].mean(dim=0), rtol=0, atol=1e-10)


def test_features_rejects_an_unknown_pooling():
    with pytest.raises(ValueError, match="pooling is 'max'"):
        Features(backbone("gpt"), pooling="max")


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_backbone_gives_the_same_features_in_training_and_gets_no_gradient(kind, text):
    ids, lengths = text
    targets = torch.tensor([2, 0])
    classifier = TextClassifier(backbone(kind, dropout=0.5), C, is_frozen=True).double().train()
    features = classifier.features.of_text(ids, lengths)
    assert torch.equal(classifier.features.of_text(ids, lengths), features)

    before = [p.clone() for p in classifier.parameters()]
    optimizer = torch.optim.SGD([p for p in classifier.parameters() if p.requires_grad], lr=1.0)
    classifier(ids, lengths=lengths, targets=targets)[1].backward()
    optimizer.step()
    changed = [
        name
        for (name, p), old in zip(classifier.named_parameters(), before, strict=True)
        if not torch.equal(p, old)
    ]
    assert changed == ["output.weight", "output.bias"]


def test_backbone_that_is_not_frozen_drops_out_in_training(text):
    classifier = TextClassifier(backbone("gpt", dropout=0.5), C).double().train()
    first, second = (classifier.features.of_text(*text) for _ in range(2))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("kind", KINDS)
def test_token_tagger_loss_ignores_padding_and_ignored_tokens(kind, text):
    ids, lengths = text
    tagger = TokenTagger(backbone(kind), C).double().eval()
    targets = torch.tensor([[0, IGNORE, 2, 1, 1], [1, 2, 0, 1, 2]])
    logits, loss = tagger(ids, lengths=lengths, targets=targets)
    counted = [logits[0, 0, 0], logits[0, 2, 2], *(logits[1, t, targets[1, t]] for t in range(5))]
    norms = logits.logsumexp(-1)
    expected = torch.stack([norms[0, 0], norms[0, 2], *norms[1]]) - torch.stack(counted)
    torch.testing.assert_close(loss, expected.mean(), rtol=0, atol=1e-10)


def test_multiple_choice_scores_do_not_depend_on_the_order_of_candidates(rng):
    ids = torch.randint(V, (B, C, T), generator=rng)
    lengths = torch.tensor([[3, 5, 4], [5, 2, 5]])
    model = MultipleChoice(backbone("gpt")).double().eval()
    logits, loss = model(ids, lengths=lengths, targets=torch.tensor([1, 2]))
    order = [2, 0, 1]
    shuffled, same_loss = model(
        ids[:, order], lengths=lengths[:, order], targets=torch.tensor([2, 0])
    )
    torch.testing.assert_close(shuffled, logits[:, order], rtol=0, atol=1e-10)
    torch.testing.assert_close(same_loss, loss, rtol=0, atol=1e-10)


def test_features_of_a_gpt_rejects_segments(text):
    ids, lengths = text
    with pytest.raises(ValueError, match="segments is given"):
        Features(backbone("gpt"))(ids, lengths, segments=torch.zeros_like(ids))


@pytest.mark.parametrize("kind", KINDS)
def test_lora_starts_as_the_identity_trains_only_itself_and_merges_exactly(kind, text, rng):
    ids, _ = text
    model = backbone(kind).eval()
    names_before = set(model.state_dict())
    original = model.encode(ids).detach()
    frozen = {name: p.clone() for name, p in model.named_parameters()}

    trainable = add_lora(model, rank=3, alpha=6.0, generator=rng)
    torch.testing.assert_close(model.encode(ids), original, rtol=0, atol=0)
    assert [p for p in model.parameters() if p.requires_grad] == trainable
    assert len(trainable) == 2 * 2 * 2  # two matrices in each of query and value of two layers

    optimizer = torch.optim.Adam(trainable, lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model.encode(ids)[..., :3].square().mean().backward()  # all D have a norm of their own
        optimizer.step()
    for name, old in frozen.items():
        kept = name.replace("query.", "query.linear.").replace("value.", "value.linear.")
        assert torch.equal(model.get_parameter(kept), old)
    adapted = model.encode(ids).detach()
    assert not torch.allclose(adapted, original)

    merge_lora(model)
    assert set(model.state_dict()) == names_before
    # 1e-12: one matrix rounds otherwise than the sum of two.
    torch.testing.assert_close(model.encode(ids), adapted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("rank", [1, 16])
def test_lora_begins_with_the_spread_of_the_authors_code(rank, rng):
    # It draws A as torch draws the weights of a linear layer: microsoft/LoRA, loralib/layers.py.
    n = 1024
    adapted = LoRALinear(nn.Linear(n, n), rank, alpha=1.0, generator=rng)
    torch.manual_seed(1)
    expected = nn.Linear(n, rank).weight.std().item()
    # 10 %: the spread of n numbers is known to 1 / sqrt(2 n), 2 %
    assert adapted.down.std().item() == pytest.approx(expected, rel=0.1)
    assert not adapted.up.any()


def test_frozen_classifier_refuses_a_backbone_with_lora_which_would_not_train():
    model = backbone("gpt")
    trainable = add_lora(model, rank=2)
    with pytest.raises(ValueError, match="is_frozen is True, but the backbone has LoRA"):
        TextClassifier(model, n_classes=2, is_frozen=True)
    assert all(parameter.requires_grad for parameter in trainable)


def test_lora_scale_is_alpha_over_rank_applied_once():
    linear = nn.Linear(4, 2, bias=False)
    nn.init.zeros_(linear.weight)
    adapted = LoRALinear(linear, rank=2, alpha=6.0)
    assert (adapted.in_features, adapted.out_features) == (4, 2)
    nn.init.ones_(adapted.down)
    nn.init.ones_(adapted.up)
    # A x = (10, 10); B A x = (20, 20); times 6 / 2.
    assert adapted(torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [60.0, 60.0]
    assert adapted.merged()(torch.tensor([1.0, 2.0, 3.0, 4.0])).tolist() == [60.0, 60.0]


@pytest.mark.parametrize("is_frozen", [True, False])
def test_text_classifier_learns_which_token_comes_first(is_frozen, rng):
    ids = torch.randint(2, V, (64, T), generator=rng)
    targets = ids[:, 0] % 2
    lengths = torch.full((64,), T)
    classifier = TextClassifier(backbone("bert"), 2, is_frozen=is_frozen, generator=rng).double()
    parameters = [p for p in classifier.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(parameters, lr=0.05 if is_frozen else 0.003)
    for _ in range(60):
        optimizer.zero_grad()
        _, loss = classifier(ids, lengths=lengths, targets=targets)
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1  # chance is log 2 = 0.69


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TextClassifier(backbone("gpt"), 0), "n_outputs is 0"),
        (lambda: LoRALinear(nn.Linear(4, 3), rank=4, alpha=1.0), "rank is 4"),
        (lambda: add_lora(backbone("gpt"), targets=("c_attn",)), "'c_attn'"),
    ],
)
def test_adaptation_rejects_what_cannot_work(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_add_lora_rejects_a_model_that_has_it_already_and_takes_other_layers():
    model = backbone("gpt")
    first = add_lora(model, rank=2)
    with pytest.raises(ValueError, match=r"'attention\.query'; has LoRA already"):
        add_lora(model, rank=2)
    second = add_lora(model, rank=2, targets="contract")
    assert [p for p in model.parameters() if p.requires_grad] == in_order(model, first + second)


def in_order(model: nn.Module, chosen: list[nn.Parameter]) -> list[nn.Parameter]:
    return [p for p in model.parameters() if any(p is c for c in chosen)]


class TwoNames(nn.Module):
    """One linear layer by two names, and one that shares its matrix with an embedding."""

    def __init__(self) -> None:
        super().__init__()
        self.first = self.second = nn.Linear(4, 4)
        self.embedding = nn.Embedding(V, 4)
        self.output = nn.Linear(4, V)
        self.output.weight = self.embedding.weight

    def forward(self, ids, targets=None):
        logits = self.output(self.second(self.first(self.embedding(ids))))
        return logits, None if targets is None else nats_per_target(logits, targets)


IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
ONE = {"ids": IDS, "targets": IDS}
TWO = {"source_ids": IDS, **ONE}
PAIR = {**ONE, "pair_targets": torch.tensor([0, 1])}
MASKED = {"ids": IDS, "targets": IDS.where(torch.arange(T) == 2, IGNORE)}
LABELLED = {"ids": IDS, "lengths": torch.tensor([3, 5]), "targets": torch.tensor([2, 0])}


def config(make, **changes):
    return replace(make(V), **changes)


# Every model that has linear layers, and a batch that gives it a loss.
MODELS = {
    "gpt tied": (lambda: GPT(gpt_tiny(V)), ONE),
    "gpt untied": (lambda: GPT(config(gpt_tiny, is_tied=False)), ONE),
    "llama": (lambda: GPT(config(llama_like_small, d_model=24, n_layers=1, d_ff=8)), ONE),
    "bert tied": (lambda: BERT(bert_tiny(V)), PAIR),
    "bert untied": (lambda: BERT(config(bert_tiny, is_tied=False)), PAIR),
    "deberta": (lambda: BERT(deberta_tiny(V)), PAIR),
    "span boundary": (lambda: SpanBoundaryLoss(BERT(bert_tiny(V))), MASKED),
    "replaced token": (
        lambda: ReplacedTokenLoss(BERT(bert_tiny(V), has_heads=False), BERT(bert_tiny(V))),
        MASKED,
    ),
    "encoder-decoder tied": (lambda: EncoderDecoder(transformer_tiny(V)), TWO),
    "encoder-decoder": (lambda: EncoderDecoder(config(transformer_tiny, is_tied=False)), TWO),
    "recurrent tied": (lambda: RecurrentLM(V, 8, 8, is_tied=True), ONE),
    "recurrent untied": (lambda: RecurrentLM(V, 8, 8), ONE),
    "seq2seq": (lambda: Seq2Seq(V, V, 8, 8, eos_id=0, score=AdditiveScore(8, 8, 8)), TWO),
    "window": (lambda: FixedWindowLM(V, 3, 4, 8, eos_id=0), ONE),
    "attention": (lambda: AttentionLM(V, 8, 2), ONE),
    "two names": (lambda: TwoNames(), ONE),
    "classifier": (lambda: TextClassifier(backbone("bert"), C), LABELLED),
}


@pytest.mark.parametrize("name", MODELS)
def test_lora_beside_every_linear_layer_of_every_model_learns_and_merges(name, rng):
    make, batch = MODELS[name]
    model = make().double().eval()

    def loss():
        torch.manual_seed(0)  # of ELECTRA's samples
        return model(**batch)[1]

    heads = [p for _, p in _head(model)]
    names, before = set(model.state_dict()), loss().item()
    pretrained = [m for m in model.modules() if isinstance(m, GPT | BERT)] or [model]
    linear = {id(m) for part in pretrained for m in part.modules() if isinstance(m, nn.Linear)}
    targets = [name for name, module in model.named_modules() if id(module) in linear]
    thin = add_lora(model, 1, 1.0, targets=targets)
    assert len(thin) == 2 * len(targets)
    assert [p for p in model.parameters() if p.requires_grad] == in_order(model, thin + heads)
    assert loss().item() == pytest.approx(before, rel=1e-12)  # 1e-12: sums in another order

    loss().backward()
    # What does not enter this loss: the pooler of ELECTRA's and SpanBERT's, and their pair heads.
    unused = ("pooler", "pair_head", "token_head") if len(heads) > 2 else ()
    for name, layer in model.named_modules():
        if isinstance(layer, LoRALinear) and not any(word in name for word in unused):
            assert layer.up.grad is not None and layer.up.grad.any(), name
    with torch.no_grad():
        for parameter in thin:
            parameter += 0.01 * torch.randn(parameter.shape, generator=rng)
    changed = loss().item()
    assert changed != pytest.approx(before, rel=1e-6)
    merge_lora(model)
    assert set(model.state_dict()) == names
    assert loss().item() == pytest.approx(changed, rel=1e-12)
    assert all(parameter.requires_grad for parameter in model.parameters())


def _head(model: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """What is not pretrained, in a model that has something pretrained."""
    parts = [m for m in model.modules() if isinstance(m, GPT | BERT)] or [model]
    theirs = {id(p) for part in parts for p in part.parameters()}
    return [(name, p) for name, p in model.named_parameters() if id(p) not in theirs]


def test_a_classifier_with_lora_trains_its_new_head():
    classifier = TextClassifier(backbone("gpt"), C)
    add_lora(classifier, rank=2)
    assert classifier.output.weight.requires_grad and classifier.output.bias.requires_grad
    assert not classifier.features.backbone.embedding.weight.requires_grad


@pytest.mark.parametrize("targets", [(), "", ("attention.query", "")])
def test_add_lora_wants_names(targets):
    with pytest.raises(ValueError, match="name the ends of the layers"):
        add_lora(backbone("gpt"), targets=targets)


def test_refused_lora_leaves_the_model_as_it_was():
    model = backbone("gpt")
    for arguments, message in (
        ({"rank": 65}, "rank is 65"),  # fits the first of the layers, not the second
        ({"targets": ("expand", "c_attn")}, "'c_attn'"),
    ):
        with pytest.raises(ValueError, match=message):
            add_lora(model, **{"targets": ("expand", "query"), **arguments})
        assert all(p.requires_grad for p in model.parameters())
        assert not any(isinstance(m, LoRALinear) for m in model.modules())
    with pytest.raises(ValueError, match="is_frozen is True"):
        add_lora(TextClassifier(model, C, is_frozen=True))


def test_tokens_are_added_before_lora():
    model = GPT(replace(gpt_tiny(V), is_tied=False))
    add_lora(model, targets="unembedding")
    with pytest.raises(ValueError, match="unembedding has LoRA"):
        add_tokens(model, 1)


@pytest.mark.parametrize("is_tied", [True, False])
def test_added_tokens_leave_the_old_ones_as_they_were_and_learn(is_tied, text, rng):
    ids, _ = text
    model = GPT(replace(gpt_tiny(V), is_tied=is_tied), generator=rng).double()
    before = model(ids)[0]
    start, end = add_tokens(model, 2, rng)
    assert (start, end, model.vocab_size, model.config.vocab_size) == (V, V + 1, V + 2, V + 2)
    logits, _ = model(ids)
    torch.testing.assert_close(logits[..., :V], before, rtol=0, atol=1e-10)
    assert logits.shape[-1] == V + 2
    model(torch.tensor([[start, 3, end]]), torch.tensor([[3, end, start]]))[1].backward()
    assert (model.embedding.weight.grad[[start, end]] != 0).any(dim=1).all()


def test_add_tokens_rejects_none():
    with pytest.raises(ValueError, match="n_tokens is 0"):
        add_tokens(backbone("gpt"), 0)

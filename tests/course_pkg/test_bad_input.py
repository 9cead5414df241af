"""What cannot be meant is refused at the door: the message names the value and the rule.

The shapes and types of signatures are checked under pytest only; a reader has what stands here.
"""

import json
from dataclasses import replace

import jaxtyping
import pytest
import torch
from torch import nn

from course_pkg import metrics
from course_pkg.decoding.beam_search import beam_search, greedy_search
from course_pkg.decoding.generation import generate
from course_pkg.evaluation import evaluate
from course_pkg.layers.attention import MultiHeadAttention, attend, causal_mask, masked_softmax
from course_pkg.layers.blocks import FeedForward
from course_pkg.layers.caches import FixedKeyValueCache
from course_pkg.layers.positions import ALiBi
from course_pkg.layers.recurrent import LSTMCell, RecurrentStack
from course_pkg.model_folders import build_model, load_model, save_model
from course_pkg.models.adaptation import LoRALinear, TextClassifier, TokenTagger, add_lora
from course_pkg.models.bert import BERT, MaskedLMLoss, bert_tiny
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.loss import nats_per_target
from course_pkg.models.ngram import NGram
from course_pkg.models.recurrent import (
    BidirectionalEncoder,
    RecurrentLM,
    SequenceClassifier,
    TruncatedBPTT,
)
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer import EncoderDecoder, transformer_tiny
from course_pkg.models.window import FixedWindowLM
from course_pkg.pretrained import load_gpt2, load_pretrained
from course_pkg.recipes import Recipe
from course_pkg.scoring import pseudo_perplexity
from course_pkg.text.batches import stream_batches, window_batches
from course_pkg.text.tokenizers import BytePairTokenizer, CharTokenizer, WordTokenizer
from course_pkg.training.objectives import reply_targets
from course_pkg.training.optim import make_optimizer
from course_pkg.training.trainer import Trainer, TrainerConfig

V, CONTEXT = 11, 8
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


@pytest.fixture(autouse=True)
def as_readers_run_it():
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def gpt(**options):
    return GPT(gpt_tiny(V, CONTEXT), **options)


def translator():
    return EncoderDecoder(transformer_tiny(V, CONTEXT))


def seq2seq():
    return Seq2Seq(V, V, 4, 6, eos_id=0)


def classifier():
    return TextClassifier(gpt(), n_classes=2)


def attention(**options):
    return MultiHeadAttention(12, 3, **options)


def lengths(*numbers):
    return torch.tensor(numbers)


def broken():
    model = gpt()
    model.embedding.weight.data[1] = torch.nan
    return model


def frozen():
    return gpt().requires_grad_(False)


X = torch.ones(2, 5, 12)
OVER = IDS + 6  # up to 15
LANGUAGE_MODELS = {
    "gpt": gpt,
    "window": lambda: FixedWindowLM(V, 2, 3, 4, eos_id=0),
    "recurrent": lambda: RecurrentLM(V, 3, 4),
    "stream": lambda: TruncatedBPTT(RecurrentLM(V, 3, 4), 2),
    "bert": lambda: BERT(bert_tiny(V, CONTEXT)),
}


def score(name, targets):
    model = LANGUAGE_MODELS[name]()
    return model(IDS, targets=targets) if name == "bert" else model(IDS, targets)


CASES = {
    **{
        f"{name}: {what}": (lambda make=make, ids=ids: make()(ids), message)
        for name, make in LANGUAGE_MODELS.items()
        for what, ids, message in [
            ("an id too large", OVER, r"ids has 1[1-5]; the vocabulary has 11 tokens, 0 to 10"),
            ("an id below 0", -IDS, r"ids has -3; the vocabulary has 11 tokens, 0 to 10"),
            ("one row without a batch", IDS[0], r"ids has shape \(5,\); it must be \(batch, pos"),
            ("no id", IDS[:, :0], r"ids has shape \(2, 0\).*begins with eos"),
            ("ids that are fractions", IDS.float(), r"ids is torch\.float32; it must be int64"),
        ]
    },
    **{
        f"{name}: {what}": (
            lambda name=name, targets=targets: score(name, targets),
            message,
        )
        for name in LANGUAGE_MODELS
        for what, targets, message in [
            ("targets turned round", IDS.T, r"targets has shape \(5, 2\).*call for \(2, 5\)"),
            ("a target too large", OVER, r"targets has 1[1-5]; it must be 0 to 10 or -100, IGNORE"),
            ("targets that are fractions", IDS.float(), r"targets is torch\.float32; .*whole"),
        ]
    },
    "gpt: text too long": (
        lambda: gpt()(torch.zeros(1, 9, dtype=torch.long)),
        "input reaches position 9; it must end by 8",
    ),
    "bert: text too long": (
        lambda: BERT(bert_tiny(V, CONTEXT))(torch.zeros(1, 9, dtype=torch.long)),
        "input reaches position 9; it must end by 8",
    ),
    "bert: mask of numbers": (
        lambda: BERT(bert_tiny(V, CONTEXT))(IDS, mask=torch.ones(2, 5)),
        r"mask is torch\.float32; it must be bool, True where a query may look",
    ),
    "bert: evaluated as if it could not see the answer": (
        lambda: evaluate(BERT(bert_tiny(V, CONTEXT)), IDS.tolist(), eos_id=0),
        r"model is BERT.*sees the answer: use course_pkg\.scoring\.pseudo_perplexity",
    ),
    "bert: no heads": (
        lambda: MaskedLMLoss(BERT(bert_tiny(V, CONTEXT), has_heads=False)),
        "has_heads is False",
    ),
    "translator: source id too large": (
        lambda: translator()(OVER, IDS),
        r"ids has 1[1-5]; the vocabulary has 11",
    ),
    "translator: source of length 0": (
        lambda: translator()(IDS, IDS, source_lengths=lengths(0, 5)),
        r"lengths is \[0, 5\]; each must be 1 to 5",
    ),
    "translator: source longer than its row": (
        lambda: translator()(IDS, IDS, source_lengths=lengths(6, 5)),
        r"lengths is \[6, 5\]; each must be 1 to 5",
    ),
    "translator: targets turned round": (
        lambda: translator()(IDS, IDS, IDS.T),
        r"targets has shape \(5, 2\)",
    ),
    "translator: search in training": (
        lambda: translator().start(IDS),
        "training is True; call the model's eval",
    ),
    "seq2seq: source of length 0": (
        lambda: seq2seq()(IDS, IDS, source_lengths=lengths(0, 5)),
        r"lengths is \[0, 5\]; each must be 1 to 5",
    ),
    "seq2seq: target id too large": (
        lambda: seq2seq()(IDS, OVER),
        r"ids has 1[1-5]; the vocabulary has 11",
    ),
    "recurrent stack: length beyond the row": (
        lambda: RecurrentStack(LSTMCell, 12, 4)(X, lengths=lengths(5, 7)),
        r"lengths is \[5, 7\]; each must be 1 to 5",
    ),
    "sequence classifier: length 0": (
        lambda: SequenceClassifier(BidirectionalEncoder(V, 3, 4), 2)(IDS, lengths(3, 0)),
        r"lengths is \[3, 0\]; each must be 1 to 5",
    ),
    "text classifier: length 0": (
        lambda: classifier()(IDS, lengths(3, 0)),
        r"lengths is \[3, 0\]; each must be 1 to 5",
    ),
    "text classifier: length beyond the row": (
        lambda: classifier()(IDS, lengths(3, 9)),
        r"lengths is \[3, 9\]; each must be 1 to 5",
    ),
    "text classifier: a class that is not there": (
        lambda: classifier()(IDS, lengths(3, 5), torch.tensor([0, 2])),
        "targets has 2; it must be 0 to 1",
    ),
    "token tagger: targets of too few tokens": (
        lambda: TokenTagger(gpt(), 2)(IDS, lengths(3, 5), IDS[:, :4]),
        r"targets has shape \(2, 4\).*\(2, 5\)",
    ),
    "stream: another number of rows": (
        lambda: TruncatedBPTT(RecurrentLM(V, 3, 4), 3)(IDS),
        "ids have 2 rows; the carried state has 3",
    ),
    "loss: targets of one axis": (
        lambda: nats_per_target(torch.zeros(2, 5, V), IDS.flatten()),
        r"targets has shape \(10,\); the logits call for \(2, 5\)",
    ),
    "attention: no heads": (
        lambda: MultiHeadAttention(12, 0),
        "n_heads is 0; both must be at least 1",
    ),
    "attention: heads that do not divide": (
        lambda: MultiHeadAttention(12, 5),
        "d_model is 12 and n_heads is 5; .*multiple",
    ),
    "attention: mask of numbers": (
        lambda: attention()(X, mask=torch.ones(1, 5, 5)),
        r"mask is torch\.float32; it must be bool",
    ),
    "attend: mask of numbers": (
        lambda: attend(X, X, X, torch.zeros(5, 5).long()),
        r"mask is torch\.int64; it must be bool",
    ),
    "softmax: mask of numbers": (
        lambda: masked_softmax(torch.ones(5, 5), torch.ones(5, 5)),
        r"mask is torch\.float32; it must be bool",
    ),
    "attention: mask beside a cache of fixed size": (
        lambda: attention()(
            X, mask=torch.ones(1, 5, 9).bool(), cache=FixedKeyValueCache(2, 3, 9, 4, like=X)
        ),
        "a mask is given: True.*brings its own mask",
    ),
    "attention: your own with a bias of ours": (
        lambda: attention(positions=ALiBi(3), attend=attend),
        "positions is ALiBi; with an attend function of your own",
    ),
    "attention: your own returns the scores": (
        lambda: attention(attend=lambda q, k, v, mask: q @ k.mT)(X),
        r"your attend returned \(2, 3, 5, 5\) of .*the queries, \(2, 3, 5, 4\)",
    ),
    "attention: your own returns nothing": (
        lambda: attention(attend=lambda q, k, v, mask: None)(X),
        r"your attend returned NoneType; .*\(2, 3, 5, 4\)",
    ),
    "mask: fewer keys than queries": (
        lambda: causal_mask(5, 3),
        "S is 3; it must be at least T, which is 5",
    ),
    "feed-forward: unknown activation": (
        lambda: FeedForward(4, 8, activation="sigmoid"),
        "activation is 'sigmoid'; it must be one of",
    ),
    "config: no heads": (lambda: replace(gpt_tiny(V), n_heads=0), "n_heads is 0; it must be at l"),
    "config: unknown positions": (
        lambda: replace(gpt_tiny(V), positions="t5"),
        "positions is 't5'; it must be one of",
    ),
    "lora: rank 0": (lambda: LoRALinear(nn.Linear(4, 3), 0, 1.0), "rank is 0"),
    "lora: no such layer": (lambda: add_lora(gpt(), targets=("q_proj",)), "'q_proj'; no linear"),
    "optimizer: nothing to train": (
        lambda: make_optimizer(frozen(), lr=0.1),
        r"none of the model's \d+ parameters is to be trained: requires_grad is False",
    ),
    "trainer: nothing to train": (
        lambda: Trainer(frozen(), None, TrainerConfig(n_steps=1)),
        r"none of the model's \d+ parameters is to be trained",
    ),
    "reply: no prompt": (
        lambda: reply_targets(IDS, lengths(0, 2), lengths(5, 5)),
        r"prompt_lengths is \[0, 2\]",
    ),
    "shipped model: unknown name": (
        lambda: load_pretrained("gpt-large"),
        "name is 'gpt-large'; the models that ship are",
    ),
    "kind: unknown": (lambda: build_model("rnn", {}), "kind is 'rnn'; it must be one of"),
    "recipe: unknown setting": (
        lambda: Recipe.of("gpt", "stories", "tiny", heads=3),
        "a recipe has no setting 'heads'",
    ),
    **{
        f"tokenizer: one string for {cls.__name__}": (
            lambda cls=cls, sizes=sizes: cls.train("a cat", **sizes),
            "texts is 'a cat', one string; it must be a list of documents",
        )
        for cls, sizes in (
            (WordTokenizer, {}),
            (CharTokenizer, {}),
            (BytePairTokenizer, {"vocab_size": 300}),
        )
    },
    **{
        f"{name}: documents that are {what}": (
            lambda act=act, documents=documents: act(documents),
            rf"document 0 is {shown}; it must be a list of ids, as a tokenizer's encode",
        )
        for name, act in (
            ("evaluate", lambda documents: evaluate(gpt(), documents, eos_id=0)),
            ("n-gram", lambda documents: NGram.fit(documents, 2, vocab_size=V, eos_id=0)),
            (
                "pseudo-perplexity",
                lambda documents: pseudo_perplexity(
                    BERT(bert_tiny(V, CONTEXT)), documents, mask_id=1, first_id=2, last_id=3
                ),
            ),
        )
        for what, documents, shown in (
            ("one string", "cat", "'c'"),
            ("strings", ["a cat"], "'a cat'"),
            ("one list of ids", [3, 1, 4], "3"),
        )
    },
    "generate: a BERT": (
        lambda: generate(BERT(bert_tiny(V, CONTEXT)), IDS, 3),
        "model is BERT, which has no next_log_probs; it must predict the next token",
    ),
    "generate: a translator": (
        lambda: generate(translator(), IDS, 3),
        "model is EncoderDecoder, which has no next_log_probs; .*beam_search",
    ),
    "generate: one row without a batch": (
        lambda: generate(gpt(), IDS[0], 3),
        r"ids has shape \(5,\); it must be \(batch, positions\)",
    ),
    "generate: a text": (
        lambda: generate(gpt(), "cat", 3),
        "ids is str; it must be a tensor of ids",
    ),
    **{
        f"generate: weights that are nan, temperature {temperature}": (
            lambda temperature=temperature: generate(broken(), IDS, 3, temperature=temperature),
            "a log-probability is nan; is a weight of the model nan or infinite",
        )
        for temperature in (0, 1)
    },
    "greedy search: no length": (
        lambda: greedy_search(seq2seq().eval().start(IDS), IDS[:, 0], eos_id=0, max_length=0),
        "max_length is 0; it must be at least 1",
    ),
    "beam search: no length": (
        lambda: beam_search(
            seq2seq().eval().start(IDS), IDS[:, 0], eos_id=0, max_length=0, n_beams=2
        ),
        "max_length is 0; it must be at least 1",
    ),
    "windows: a list of ids": (
        lambda: window_batches([3, 1, 4, 1], 2, 1, seed=0),
        "ids is list; it must be one tensor of ids, as pack_documents makes",
    ),
    "streams: a list of ids": (
        lambda: stream_batches([3, 1, 4, 1], 2, 1),
        "ids is list; it must be one tensor of ids, as pack_documents makes",
    ),
    "config: disentangled positions with grouped heads": (
        lambda: replace(gpt_tiny(V), positions="disentangled", n_kv_heads=2),
        "n_kv_heads is 2; with disentangled positions it must be n_heads, 4",
    ),
    "bleu: one string": (
        lambda: metrics.bleu("a cat", "a dog"),
        "'a cat' is one string; it must be a list",
    ),
    "error rate: one string": (
        lambda: metrics.error_rate("abc", ["abc"]),
        "'abc' is one string; it must be a list",
    ),
    "accuracy: not in pairs": (lambda: metrics.accuracy([1], [1, 2]), "1 predictions for 2 items"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_by_value_and_rule(case):
    act, message = CASES[case]
    with pytest.raises(ValueError, match=message):
        act()


def test_failure_inside_an_attend_of_ones_own_is_told_the_shapes():
    wrong = attention(attend=lambda q, k, v, mask: q @ k)
    with pytest.raises(RuntimeError, match=r"query \(2, 3, 5, 4\), key \(2, 3, 5, 4\)"):
        wrong(X)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_damaged_file_of_a_trained_model_is_named(tmp_path, name):
    structure = vars(gpt_tiny(V, CONTEXT))

    class Tokenizer:
        def save(self, path):
            path.write_text("{}")

    save_model(tmp_path / "m", gpt(), Tokenizer(), kind="gpt", structure=structure, card="")
    (tmp_path / "m" / name).write_bytes(b"\0" * 20)
    with pytest.raises(ValueError, match=rf"does not hold a trained model: {name}"):
        load_model(tmp_path / "m")


def test_damaged_published_weights_are_named(tmp_path):
    published = {"vocab_size": V, "n_positions": 8, "n_embd": 12, "n_head": 3, "n_layer": 1}
    (tmp_path / "config.json").write_text(json.dumps(published | {"activation_function": "relu"}))
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 20)
    with pytest.raises(ValueError, match=r"model\.safetensors cannot be read as weights"):
        load_gpt2(tmp_path)


def test_paths_may_be_strings(tmp_path):
    class Tokenizer:
        def save(self, path):
            path.write_text("{}")

    structure = vars(gpt_tiny(V, CONTEXT))
    folder = str(tmp_path / "m")
    save_model(folder, gpt(), Tokenizer(), kind="gpt", structure=structure, card="")
    assert (tmp_path / "m" / "config.json").exists()
    batches = window_batches(IDS.flatten(), 4, 2, seed=0)
    Trainer(gpt(), batches, TrainerConfig(n_steps=1), folder=str(tmp_path / "run")).train()
    assert (tmp_path / "run" / "log.jsonl").exists()


def test_whole_numbers_of_32_bits_are_as_good_as_those_of_64():
    model = gpt()
    logits, loss = model(IDS.int(), IDS.int())
    expected_logits, expected_loss = model(IDS, IDS)
    assert torch.equal(logits, expected_logits)
    assert torch.equal(loss, expected_loss)

"""What cannot be meant is refused at the door: the message names the value and the rule.

The shapes and types of signatures are checked under pytest only; a reader has what stands here.
"""

import json
from dataclasses import replace

import jaxtyping
import numpy as np
import pytest
import torch
from torch import nn

from course_pkg.common.checks import whole_numbers
from course_pkg.decoding.beam_search import beam_search, greedy_search
from course_pkg.decoding.generation import generate
from course_pkg.evaluation import metrics
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.evaluation.probing import (
    fit_probe,
    heads_that_follow,
    layer_vectors,
    probe,
    trace_of,
)
from course_pkg.evaluation.scoring import answer_log_probs, pseudo_perplexity
from course_pkg.layers.attention import MultiHeadAttention, attend, causal_mask, masked_softmax
from course_pkg.layers.blocks import FeedForward
from course_pkg.layers.caches import FixedKeyValueCache
from course_pkg.layers.positions import ALiBi, LearnedPositions
from course_pkg.layers.recurrent import LSTMCell, RecurrentStack
from course_pkg.models.adaptation import (
    LoRALinear,
    MultipleChoice,
    TextClassifier,
    TokenTagger,
    add_lora,
    add_tokens,
)
from course_pkg.models.bert import BERT, MaskedLMLoss, bert_tiny
from course_pkg.models.bert_objectives import PermutationLoss
from course_pkg.models.five_steps import FIVE_STEPS, FiveStepsTranslator
from course_pkg.models.gpt import GPT, gpt_tiny, llama_like_small
from course_pkg.models.loss import ignore_padding, log_prob_of_targets, nats_per_target
from course_pkg.models.ngram import NGram
from course_pkg.models.one_token import OneTokenReader
from course_pkg.models.recurrent import (
    BidirectionalEncoder,
    RecurrentLM,
    SequenceClassifier,
    TruncatedBPTT,
    last_pool,
    max_pool,
    mean_pool,
)
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.skip_gram import SkipGram
from course_pkg.models.transformer import EncoderDecoder, transformer_tiny
from course_pkg.models.window import FixedWindowLM
from course_pkg.recipes import Recipe
from course_pkg.text.batches import pad_rows, stream_batches, window_batches
from course_pkg.text.batches.formatting import TaskFormat
from course_pkg.text.batches.masking import choose_tokens
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.stories.requests import Requests
from course_pkg.text.tokenizers import BytePairTokenizer, CharTokenizer, WordTokenizer
from course_pkg.training.objectives import (
    cross_entropy,
    distillation_loss,
    dpo_loss,
    preference_loss,
    reply_targets,
    target_log_prob,
)
from course_pkg.training.optim import make_optimizer
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import TrainedModel, build_model, load_model, save_model
from course_pkg.weights.pretrained import load_gpt2, load_pretrained

V, CONTEXT = 11, 8
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


@pytest.fixture(autouse=True)
def as_readers_run_it():
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def gpt(**options):
    return GPT(gpt_tiny(V, CONTEXT), **options)


def bert(**options):
    return BERT(bert_tiny(V, CONTEXT), **options)


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
ONES = torch.ones(2)
NAN = float("nan")
SAME = r"has shape \(.*\); it must have that of (policy_)?chosen, \("
OVER = IDS + 6  # up to 15
LANGUAGE_MODELS = {
    "gpt": gpt,
    "window": lambda: FixedWindowLM(V, 2, 3, 4, eos_id=0),
    "recurrent": lambda: RecurrentLM(V, 3, 4),
    "stream": lambda: TruncatedBPTT(RecurrentLM(V, 3, 4), 2),
    "bert": bert,
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
        lambda: bert()(torch.zeros(1, 9, dtype=torch.long)),
        "input reaches position 9; it must end by 8",
    ),
    "bert: mask of numbers": (
        lambda: bert()(IDS, mask=torch.ones(2, 5)),
        r"mask is torch\.float32; it must be bool, True where a query may look",
    ),
    "bert: evaluated as if it could not see the answer": (
        lambda: evaluate(bert(), IDS.tolist(), eos_id=0),
        r"model is BERT.*sees the answer: use course_pkg\.evaluation\.scoring\.pseudo_perplexity",
    ),
    "bert: no heads": (
        lambda: MaskedLMLoss(bert(has_heads=False)),
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
        lambda: SequenceClassifier(BidirectionalEncoder(V, 3, 4), 2)(IDS, lengths=lengths(3, 0)),
        r"lengths is \[3, 0\]; each must be 1 to 5",
    ),
    "text classifier: length 0": (
        lambda: classifier()(IDS, lengths=lengths(3, 0)),
        r"lengths is \[3, 0\]; each must be 1 to 5",
    ),
    "text classifier: length beyond the row": (
        lambda: classifier()(IDS, lengths=lengths(3, 9)),
        r"lengths is \[3, 9\]; each must be 1 to 5",
    ),
    "text classifier: a class that is not there": (
        lambda: classifier()(IDS, lengths=lengths(3, 5), targets=torch.tensor([0, 2])),
        "targets has 2; it must be 0 to 1",
    ),
    "token tagger: targets of too few tokens": (
        lambda: TokenTagger(gpt(), 2)(IDS, lengths=lengths(3, 5), targets=IDS[:, :4]),
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
        "n_heads is 0; it must be at least 1",
    ),
    "attention: heads that do not divide": (
        lambda: MultiHeadAttention(12, 5),
        "d_model is 12; .*multiple of n_heads, 5",
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
                    bert(), documents, mask_id=1, first_id=2, last_id=3
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
        lambda: generate(bert(), IDS, 3),
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
        "ids is list; it must be one row of ids, as pack_documents makes",
    ),
    "streams: a list of ids": (
        lambda: stream_batches([3, 1, 4, 1], 2, 1),
        "ids is list; it must be one row of ids, as pack_documents makes",
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
    **{
        f"{name}: {what}": (act, message)
        for name, what, act, message in [
            (
                "lora",
                "rank 2.0",
                lambda: add_lora(gpt(), rank=2.0),
                r"rank is 2\.0; .*whole number",
            ),
            ("lora", "alpha nan", lambda: add_lora(gpt(), alpha=NAN), "alpha is nan; .*positive"),
            ("new tokens", "2.5", lambda: add_tokens(gpt(), 2.5), r"n_tokens is 2\.5; .*whole"),
            (
                "text classifier",
                "what load_pretrained returns",
                lambda: TextClassifier(TrainedModel("gpt", gpt(), None, ""), 2),
                "backbone is TrainedModel; it must be a GPT or a BERT, such as the model of",
            ),
            (
                "text classifier",
                "a translator",
                lambda: TextClassifier(translator(), 2),
                "backbone is EncoderDecoder; it must be a GPT or a BERT",
            ),
            (
                "text classifier",
                "2.0 classes",
                lambda: TextClassifier(gpt(), 2.0),
                r"n_outputs is 2\.0; it must be a whole number",
            ),
            (
                "text classifier",
                "lengths in a list",
                lambda: classifier()(IDS, lengths=[5, 5]),
                "lengths is list; it must be a tensor",
            ),
            (
                "text classifier",
                "one length for two rows",
                lambda: classifier()(IDS, lengths=lengths(5)),
                r"lengths is torch\.int64 of shape \(1,\); .*each of 2 rows",
            ),
            (
                "text classifier",
                "ids in an array",
                lambda: classifier()(IDS.numpy(), lengths=lengths(5, 5)),
                "ids is ndarray; it must be a tensor of ids",
            ),
            (
                "token tagger",
                "targets in an array",
                lambda: TokenTagger(gpt(), 2)(
                    IDS, lengths=lengths(5, 5), targets=(IDS % 2).numpy()
                ),
                "targets is ndarray; it must be a tensor",
            ),
            (
                "multiple choice",
                "one text for each question",
                lambda: MultipleChoice(gpt())(IDS, lengths=lengths(5, 5)),
                r"ids has shape \(2, 5\) and lengths \(2,\); .*\(questions, candidates, positions",
            ),
            (
                "bert",
                "a third segment",
                lambda: bert()(IDS, segments=IDS * 0 + 2),
                "segments has 2; there are 2, 0 to 1",
            ),
            (
                "bert",
                "segments of too few tokens",
                lambda: bert()(IDS, segments=IDS[:, :4]),
                r"segments has shape \(2, 4\); it must have that of ids, \(2, 5\)",
            ),
            (
                "bert",
                "mask of too few tokens",
                lambda: bert()(IDS, mask=IDS[:, :4] > 0),
                r"mask has shape \(2, 4\); it must have that of ids, \(2, 5\)",
            ),
            (
                "permutations",
                "one order for all rows",
                lambda: PermutationLoss(bert(), mask_id=0)(IDS, ranks=IDS[:1], targets=IDS),
                r"ranks has shape \(1, 5\); it must have that of ids, \(2, 5\)",
            ),
            ("gpt", "a size", lambda: GPT(64), "config is int; it must be a TransformerConfig"),
            (
                "config",
                "a width of 64.0",
                lambda: replace(gpt_tiny(V), d_model=64.0),
                r"d_model is 64\.0; it must be a whole number, 1 or more",
            ),
            (
                "translator",
                "fewer targets than sources",
                lambda: translator()(IDS, IDS[:1]),
                "ids has 1 rows; source_ids has 2: pair them",
            ),
            (
                "seq2seq",
                "fewer targets than sources",
                lambda: seq2seq()(IDS, IDS[:1]),
                "ids has 1 rows; source_ids has 2: pair them",
            ),
            (
                "attention",
                "another width",
                lambda: attention()(X[..., :10]),
                r"x has shape \(2, 5, 10\); it must be .* d_model is 12",
            ),
            ("alibi", "no heads", lambda: ALiBi(0), "n_heads is 0; it must be at least 1"),
            ("positions", "-1", lambda: LearnedPositions(8, 12)(X, -1), "offset is -1; positions"),
            ("preferences", "two and two", lambda: preference_loss(ONES[:, None], ONES), SAME),
            ("preferences", "none", lambda: preference_loss(ONES[:0], ONES[:0]), "chosen is empty"),
            ("dpo", "by token", lambda: dpo_loss(ONES, X[0], ONES, X[0]), SAME),
            (
                "log prob of a reply",
                "too few targets",
                lambda: target_log_prob(torch.ones(2, 5, V), IDS[:, :4]),
                r"targets has shape \(2, 4\); the logits call for \(2, 5\)",
            ),
            (
                "log prob of a reply",
                "a target too large",
                lambda: target_log_prob(torch.ones(2, 5, V), OVER),
                "targets has 1[1-5]; it must be 0 to 10",
            ),
            (
                "cross-entropy",
                "smoothing of 1.5",
                lambda: cross_entropy(torch.ones(2, 5, V), IDS, 1.5),
                r"label_smoothing is 1\.5; it must be 0 to 1",
            ),
            (
                "distillation",
                "a teacher of one row",
                lambda: distillation_loss(torch.ones(2, 5, V), torch.ones(1, 5, V), IDS),
                r"teacher_logits has shape \(1, 5, 11\); .*student_logits",
            ),
            (
                "reply",
                "one length for two rows",
                lambda: reply_targets(IDS, lengths(2), lengths(5)),
                r"lengths is .*shape \(1,\); .*each of 2 rows",
            ),
            (
                "probe",
                "a class too large",
                lambda: fit_probe(X[0], IDS[0], 2),
                "labels has [3459]",
            ),
            (
                "probe",
                "nan",
                lambda: fit_probe(X[0] * NAN, IDS[0] % 2, 2),
                "vectors has a nan or an infinite number",
            ),
            (
                "probe",
                "a share to learn from",
                lambda: probe(X[0], IDS[0] % 2, "abcde", n_train=0.8),
                r"n_train is 0\.8; it must be a whole number",
            ),
            (
                "vectors of tokens",
                "beyond the text",
                lambda: layer_vectors(gpt(), [[1, 2]], [[5]]),
                "place is 5; text 0 has 2 tokens, -2 to 1",
            ),
            (
                "heads",
                "beyond the text",
                lambda: heads_that_follow([trace_of(bert(), [1, 2]).attention], [[(7, [0])]]),
                "place is 7; the text has 2 tokens",
            ),
            (
                "answers",
                "a prompt that is a string",
                lambda: answer_log_probs(gpt(), "Who?", [[1], [2]], eos_id=0),
                r"prompt 0 is 'Who\?'; it must be a list of ids",
            ),
            (
                "answers",
                "one list of ids",
                lambda: answer_log_probs(gpt(), [1, 2], [3, 4], eos_id=0),
                "answer 0 is 3; it must be a list of ids",
            ),
            (
                "frame of a task",
                "a text that is a string",
                lambda: TaskFormat(start=1, delim=2, extract=3, max_length=16).single("film"),
                "text 0 is 'film'; it must be a list of ids",
            ),
            (
                "masking",
                "ids",
                lambda: choose_tokens(IDS, 0.15, torch.Generator()),
                r"may_mask is torch\.int64; it must be bool",
            ),
            ("rows", "none", lambda: pad_rows([], 0), "n_rows is 0; it must be at least 1"),
            ("rows", "strings", lambda: pad_rows(["ab"], 0), "row 0 is 'ab'; it must be a list"),
            (
                "generate",
                "half a token",
                lambda: generate(gpt(), IDS, 3.5),
                r"n_tokens is 3\.5; it must be a whole number, 0 or more",
            ),
            (
                "generate",
                "a temperature in words",
                lambda: generate(gpt(), IDS, 3, temperature="hot"),
                "temperature is 'hot'; it must be a number",
            ),
            (
                "generate",
                "half a token to choose among",
                lambda: generate(gpt(), IDS, 3, top_k=2.5),
                r"top_k is 2\.5; it must be a whole number",
            ),
            (
                "beam search",
                "a source",
                lambda: beam_search(IDS, IDS[:, 0], eos_id=0, max_length=3, n_beams=2),
                "start is Tensor; it must be texts to go on from",
            ),
            (
                "beam search",
                "a penalty that is nan",
                lambda: beam_search(
                    seq2seq().eval().start(IDS),
                    IDS[:, 0],
                    eos_id=0,
                    max_length=3,
                    n_beams=2,
                    alpha=NAN,
                ),
                "alpha is nan; it must be at least 0",
            ),
            ("skip-gram", "no count", lambda: SkipGram([0, 0], 4), "counts must not be negative"),
            ("settings", "10.5 steps", lambda: TrainerConfig(n_steps=10.5), r"n_steps is 10\.5"),
            (
                "settings",
                "a negative decay",
                lambda: TrainerConfig(n_steps=1, weight_decay=-1.0),
                r"weight_decay is -1\.0; it must not be negative",
            ),
            (
                "settings",
                "a negative length",
                lambda: TrainerConfig(n_steps=1, clip_norm=-1.0),
                r"clip_norm is -1\.0; it must be positive, or None",
            ),
            (
                "trainer",
                "a list of batches",
                lambda: Trainer(gpt(), [IDS], TrainerConfig(n_steps=1)),
                "batches is list; it must go on for ever, as what window_batches",
            ),
            (
                "requests",
                "a reply that is a string",
                lambda: Requests(StoryGrammar()).judge(None, "Once upon a time"),
                "reply is 'Once upon a time', one string; it must be a list of words",
            ),
            (
                "accuracy",
                "scores",
                lambda: metrics.accuracy(X[0, :2], [0, 1]),
                r"item 0 is predicted as \(1\.0, .* take the argmax first",
            ),
            (
                "accuracy",
                "a class among scores",
                lambda: metrics.accuracy([0, (0.1, 0.9)], [0, 1]),
                r"item 1 is predicted as \(0\.1, 0\.9\) and in truth 1; of scores take the argmax",
            ),
            ("ranks", "nan", lambda: metrics.spearman([1, NAN], [1, 2]), "an item is nan"),
        ]
    },
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
        vocab_size = V

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
        vocab_size = V

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


@pytest.mark.parametrize("number", [np.int64(3), torch.tensor(3), np.uint8(3)])
def test_whole_numbers_may_be_numpys_and_torchs(number):
    whole_numbers(n_tokens=number)
    with pytest.raises(ValueError, match=r"n_tokens is .*; it must be a whole number, 1 or more"):
        whole_numbers(n_tokens=number * 1.0)


def test_what_torch_says_of_something_else_than_targets_stays():
    rows = torch.zeros(2, 3).log_softmax(-1)
    with pytest.raises(RuntimeError, match="device"):
        log_prob_of_targets(rows, torch.zeros(2, dtype=torch.int64, device="meta"))


LENGTH_TAKERS = {
    "mean_pool": lambda lengths: mean_pool(torch.ones(2, 5, 4), lengths),
    "max_pool": lambda lengths: max_pool(torch.ones(2, 5, 4), lengths),
    "last_pool": lambda lengths: last_pool(torch.ones(2, 5, 4), lengths),
    "ignore_padding": lambda lengths: ignore_padding(IDS, lengths),
    "EncoderDecoder": lambda lengths: translator()(IDS, IDS, source_lengths=lengths),
    "Seq2Seq": lambda lengths: seq2seq()(IDS, IDS, source_lengths=lengths),
    "five steps": lambda lengths: FiveStepsTranslator(FIVE_STEPS[5], V, V, 4, 2)(
        IDS, IDS, source_lengths=lengths
    ),
    "classifier": lambda lengths: TextClassifier(gpt(), 2)(IDS, lengths=lengths),
    "generate": lambda lengths: generate(gpt(), IDS, 1, lengths=lengths),
}


@pytest.mark.parametrize("lengths", [[-1, 2], [9, 2], [2.5, 1.0], [True, True], [2], [[1, 2]]])
@pytest.mark.parametrize("name", LENGTH_TAKERS)
def test_lengths_that_are_none_of_the_rows_are_refused_by_all_that_take_them(name, lengths):
    """Not cut, not broadcast to all rows, not counted from the end."""
    with pytest.raises(ValueError, match=r"^lengths is .*; (each must be|it must hold one whole)"):
        LENGTH_TAKERS[name](torch.tensor(lengths))


@pytest.mark.parametrize("ids", [[[1], [2]], [[1, 2]], [1]])
def test_a_reader_of_one_token_takes_one(ids):
    """Of two rows it read both as one, and returned the first."""
    structure = replace(
        llama_like_small(V, CONTEXT), d_model=32, n_heads=4, n_kv_heads=2, n_layers=2, d_ff=48
    )
    model = GPT(structure)
    with pytest.raises(ValueError, match=r"ids has shape .*; it must be one token, \(1, 1\)"):
        OneTokenReader(model).encode(torch.tensor(ids), cache=model.new_cache())

"""What a stranger passes by mistake: refused by name, where it was silent or obscure once."""

import math

import jaxtyping
import numpy as np
import pytest
import torch
from torch import nn

from course_pkg import plots, widgets
from course_pkg.common.devices import choose_device
from course_pkg.decoding.beam_search import TextContinuation
from course_pkg.decoding.generation import FixedGenerator, generate
from course_pkg.decoding.streaming import Streamer
from course_pkg.evaluation.likelihood import (
    bits_per_byte,
    bytes_per_token,
    count_bytes,
    evaluate,
    paired_bootstrap,
    perplexity,
)
from course_pkg.evaluation.metrics import accuracy, f1
from course_pkg.evaluation.scoring import answer_log_probs, pseudo_perplexity
from course_pkg.layers.attention import attend
from course_pkg.layers.blocks import LayerNorm, RMSNorm
from course_pkg.layers.caches import KeyValueCache
from course_pkg.models.adaptation import add_lora, merge_lora
from course_pkg.models.attention import AttentionLM
from course_pkg.models.bert import BERT, MaskedLMLoss, bert_tiny
from course_pkg.models.bert_objectives import (
    PermutationLoss,
    ReplacedTokenLoss,
    SpanBoundaryLoss,
)
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.ngram import NGram
from course_pkg.models.recurrent import BidirectionalEncoder, RecurrentLM, TruncatedBPTT
from course_pkg.models.seq2seq import Seq2Seq
from course_pkg.models.transformer import count_parameters
from course_pkg.models.window import FixedWindowLM
from course_pkg.recipes import Recipe, prepare
from course_pkg.text.batches import example_batches, window_batches
from course_pkg.text.batches.masking import mask_tokens, span_lengths
from course_pkg.text.batches.noising import delete_tokens, permute_sentences, rotate
from course_pkg.text.batches.token_files import TokenFile, write_token_file
from course_pkg.text.tokenizers import ByteTokenizer, WordPieceTokenizer, load_tokenizer
from course_pkg.text.tokenizers.vocabulary import Vocabulary
from course_pkg.training import planning
from course_pkg.training.checkpoint import (
    CheckpointError,
    list_checkpoints,
    load_checkpoint,
    save_checkpoint,
)
from course_pkg.training.log import read_log
from course_pkg.training.optim import clip_global_norm, make_optimizer
from course_pkg.training.prefetch import Prefetched
from course_pkg.training.schedules import constant_schedule, cosine_schedule
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights.model_folders import load_model, save_model
from course_pkg.weights.pretrained import load_pretrained

V, NAN = 11, float("nan")
IDS = torch.tensor([[3, 1, 4]])
X = torch.ones(1, 3, 4)
ALL = torch.ones(1, 3, dtype=torch.bool)


@pytest.fixture(autouse=True)
def as_readers_run_it():
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def rng():
    return torch.Generator().manual_seed(0)


def mask(vocab_size, mask_id, special_ids):
    return mask_tokens(
        IDS,
        ALL,
        vocab_size=vocab_size,
        mask_id=mask_id,
        special_ids=special_ids,
        generator=rng(),
    )


def trainer(**changes):
    arguments = {"model": GPT(gpt_tiny(V)), "batches": windows(), "config": STEP}
    return Trainer(**(arguments | changes))


def fixed_generator_of_nan():
    model = GPT(gpt_tiny(V))
    nn.init.constant_(model.embedding.weight, NAN)
    return FixedGenerator(model, 1, 6)


def without_numbers():
    with torch.device("meta"):
        return GPT(gpt_tiny(V))


def read_with_cache(cache, *more):
    """Read with a cache; with None, with the model's own, a first text and then more."""
    model = GPT(gpt_tiny(V)).eval()
    cache = model.new_cache() if cache is None else cache
    for ids in (IDS, *more):
        model.next_log_probs(ids, cache=cache)


def stream(ids, n_tokens, **choices):
    """What is wrong is said at once, before a token is asked for."""
    return Streamer(GPT(gpt_tiny(V))).stream(ids, n_tokens, **choices)


def windows():
    return window_batches(torch.arange(40) % V, 4, 2, seed=0)


class Copies:
    """Batches whose targets are the ids, as where the model is thought to shift them."""

    def __init__(self, ids=IDS):
        self.ids = ids

    def next_batch(self):
        return {"ids": self.ids, "targets": self.ids.clone()}

    reshuffle = state_dict = load_state_dict = next_batch


def optimizer_made_before_lora():
    model = GPT(gpt_tiny(V))
    optimizer = torch.optim.AdamW(model.parameters())
    add_lora(model)
    return {"model": model, "optimizer": optimizer}


def lbfgs():
    model = GPT(gpt_tiny(V))
    return {"model": model, "optimizer": torch.optim.LBFGS(model.parameters())}


@torch.inference_mode()
def made_to_infer():
    return GPT(gpt_tiny(V))


STEP = TrainerConfig(n_steps=1)
BERT_IDS = {"mask_id": 1, "first_id": 2, "last_id": 3}

YES = torch.ones(9, dtype=torch.bool)

MISUSES = [
    (lambda: torch.no_grad()(trainer().train)(), r"gradients are switched off .*no_grad\(\)"),
    (lambda: torch.inference_mode()(trainer().train)(), "gradients are switched off here"),
    (lambda: trainer(model=made_to_infer()), r"embedding.weight was made in torch.inference_mode"),
    (lambda: trainer(**lbfgs()), "optimizer is LBFGS, whose step evaluates the loss several"),
    (lambda: GPT(gpt_tiny(V))(IDS, IDS > 1), "targets is torch.bool; it must hold whole numbers"),
    (lambda: window_batches(YES, 2, 2, seed=0), r"ids is torch.bool of shape \(9,\); it must be"),
    (lambda: window_batches(np.arange(9), 2, 2, seed=0), "ids is ndarray; .* torch.from_numpy"),
    (lambda: example_batches({"a": 1}, None, 1, seed=0), "examples is dict; it must be a list"),
    (lambda: count_parameters({"weight": IDS}), "model is dict; it must be a torch.nn.Module"),
    (lambda: trainer(model=GPT(gpt_tiny(V)).half()), "embedding.weight is float16, in which"),
    (lambda: trainer(model=without_numbers()), "embedding.weight is on the device meta"),
    (lambda: trainer(learning_rate=lambda n: NAN).train(), r"learning_rate\(0\) is nan; it must"),
    (lambda: trainer(learning_rate=lambda n: -0.1).train(), r"learning_rate\(0\) is -0.1; it"),
    (lambda: trainer(learning_rate=lambda n: None).train(), r"learning_rate\(0\) is None; it"),
    (lambda: read_with_cache(GPT(gpt_tiny(V)).new_cache()[:1]), "cache is list of 1; .* 2 layers"),
    (lambda: read_with_cache(KeyValueCache()), "cache is KeyValueCache; .* new_cache"),
    (lambda: read_with_cache(None, IDS.expand(2, 3)), "the cache holds a batch of 1, .* one of 2"),
    (lambda: evaluate(GPT(gpt_tiny(V)), (i for i in [[1]]), eos_id=0), "documents is generator"),
    (lambda: NGram.fit((i for i in [[1]]), 2, V, 0), "documents is generator; it must be a list"),
    (lambda: bytes_per_token(ByteTokenizer(), (t for t in "a")), "texts is generator; it must be"),
    (lambda: example_batches(iter([1]), None, 1, seed=0), "examples is list_iterator; it must be"),
    (lambda: stream("ab", 1), "ids is 'ab'; it must be a list of ids"),
    (lambda: stream([1], 2.5), "n_tokens is 2.5; it must be a whole number"),
    (lambda: stream([1], -1), "n_tokens is -1; it must be at least 0"),
    (lambda: stream([1], 3, stop_ids=5), "stop_ids is 5; it must be a list of ids"),
    (lambda: stream([1], 3, top_p=90), "top_p is 90; it must be above 0"),
    (lambda: Streamer(BERT(bert_tiny(V))), "model is BERT; it must be a GPT"),
    (lambda: load_model("gpt-small"), "gpt-small does not .*: it does not exist; .* by name, by"),
    (lambda: load_pretrained("mine"), "name is 'mine'; .* load_model loads one of your own"),
    (lambda: trainer(learning_rate=0.001), r"learning_rate is 0\.001; it must be a function"),
    (lambda: trainer(optimizer=torch.optim.SGD), "optimizer is <class .*; it must be one over"),
    (lambda: trainer(**optimizer_made_before_lora()), "lacks 8 parameters .*add_lora makes new"),
    (lambda: trainer(batches=Copies()).train(), "targets of a batch are its ids"),
    (lambda: merge_lora(GPT(gpt_tiny(V))), "model has no LoRA layer; there is nothing to merge"),
    (
        lambda: evaluate(NGram.fit([[1, 2]], 2, V, 0), [[1, 2]], eos_id=3),
        "eos_id is 3; the model was made with 0",
    ),
    (lambda: evaluate(GPT(gpt_tiny(V)), [[1]], 0, eos_id=0), "n_bytes is 0; it must be at least 1"),
    (lambda: f1(["no", "yes"], ["yes", "yes"]), "positive is 1; the items have 'no', 'yes': name"),
    (lambda: accuracy(["0", "1"], [0, 1]), "item 0 is predicted as '0' and in truth 0; text"),
    (lambda: trainer(full_speed="1e12"), "full_speed is '1e12'; it must be a number"),
    (lambda: trainer(full_speed=0), "full_speed is 0; it must be positive"),
    (lambda: trainer(shard="no"), "shard is 'no'; it must be True or False"),
    (lambda: trainer(device=0), "device is 0; it must be a name such as cpu"),
    (lambda: trainer(device=None), "device is None; it must be a name such as cpu"),
    (lambda: trainer(model=GPT), "model is type; it must be a torch.nn.Module"),
    (lambda: trainer().train(resume="runs/mine"), "resume is 'runs/mine'; it must be True or"),
    (lambda: choose_device(0), "device is 0; it must be text"),
    (lambda: Prefetched([1, 2]), "batches is list; it must go on for ever"),
    (lambda: Prefetched(windows(), n_ahead=1.5), "n_ahead is 1.5"),
    (
        lambda: save_model("m", {}, ByteTokenizer(), kind="gpt", structure={}, card=""),
        "model is dict; it must be a torch.nn.Module",
    ),
    (lambda: add_lora({}), "model is dict; it must be a torch.nn.Module"),
    (lambda: make_optimizer({}, lr=0.1), "model is dict; it must be a torch.nn.Module"),
    (lambda: MaskedLMLoss(GPT(gpt_tiny(V))), "model is GPT; it must be a BERT"),
    (lambda: SpanBoundaryLoss(GPT(gpt_tiny(V))), "model is GPT; it must be a BERT"),
    (lambda: ReplacedTokenLoss(BERT(bert_tiny(V)), V), "model is int; it must be a BERT"),
    (lambda: PermutationLoss(GPT(gpt_tiny(V)), mask_id=0), "model is GPT; it must be a BERT"),
    (lambda: PermutationLoss(BERT(bert_tiny(V)), mask_id=V), "mask_id is 11; the vocabulary has"),
    (lambda: TruncatedBPTT(GPT(gpt_tiny(V)), 2), "model is GPT; it must be a RecurrentLM"),
    (lambda: make_optimizer(GPT(gpt_tiny(V)), lr="0.1"), "lr is '0.1'; it must be a number"),
    (lambda: make_optimizer(GPT(gpt_tiny(V)), lr=NAN), "lr is nan; it must not be negative"),
    (lambda: constant_schedule(None), "lr is None; it must be a number"),
    (lambda: cosine_schedule(0.1, n_warmup=1.5, n_steps=9), "n_warmup is 1.5; it must be a whole"),
    (lambda: cosine_schedule(0.1, n_warmup=0, n_steps="9"), "n_steps is '9'; it must be a whole"),
    (lambda: clip_global_norm([], "1"), "max_norm is '1'; it must be a number"),
    (lambda: evaluate(GPT(gpt_tiny(V)), [[1]], eos_id="<eos>"), "eos_id is '<eos>'; it must be a"),
    (lambda: evaluate(GPT(gpt_tiny(V)), [[1]], eos_id=99), "eos_id is 99; the vocabulary has 11"),
    (
        lambda: answer_log_probs(GPT(gpt_tiny(V)), [1], [[2]], eos_id=-1),
        "eos_id is -1; it must be at least 0",
    ),
    (
        lambda: pseudo_perplexity(BERT(bert_tiny(V)), [[1]], **(BERT_IDS | {"last_id": 1.5})),
        "last_id is 1.5; it must be a whole number",
    ),
    (lambda: FixedWindowLM(5, 2, 3, 4, eos_id="0"), "eos_id is '0'; it must be a whole number"),
    (
        lambda: generate(GPT(gpt_tiny(V)), torch.tensor([[]]), 3),
        r"ids has shape \(1, 0\); .* an empty text begins with eos",
    ),
    (lambda: TextContinuation(GPT(gpt_tiny(V)), [[1]]), "ids is list; it must be a tensor"),
    (lambda: WordPieceTokenizer("vocab.txt"), "tokens is 'vocab.txt'; it must be a list of names"),
    (lambda: Vocabulary("abc"), "ordinary is 'abc'; it must be a list of tokens"),
    (lambda: Recipe.from_json("{}"), "no recipe of this version: it has no 'trainer'"),
    (lambda: perplexity([-1.0, -2.0]), "log_probs is list; it must be a tensor"),
    (lambda: bits_per_byte(NAN, 3), "nats is nan; it must be at least 0"),
    (lambda: bits_per_byte(-3.0, 3), "nats is -3.0; it must be at least 0"),
    (lambda: bits_per_byte(3.0, 2.5), "n_bytes is 2.5; it must be a whole number"),
    (lambda: count_bytes("abc"), "texts is 'abc', one string"),
    (lambda: bytes_per_token(ByteTokenizer(), "abc"), "texts is 'abc', one string"),
    (
        lambda: evaluate(GPT(gpt_tiny(V)), [[1]], eos_id=0, context_length=1.5),
        "context_length is 1.5",
    ),
    (lambda: evaluate(GPT(gpt_tiny(V)), [[1]], eos_id=0, stride=0.5), "stride is 0.5"),
    (lambda: paired_bootstrap([NAN, 1], [0, 1]), "item 0 is nan and 0; both must be finite"),
    (lambda: paired_bootstrap([1, 1], [0, 1], weights=[0, 1]), "weights has 0.0; each must be"),
    (lambda: paired_bootstrap([1, 1], [0, 1], n_samples=0), "n_samples is 0"),
    (lambda: paired_bootstrap([1, 1], [0, 1], seed=-1), "seed is -1"),
    (lambda: fixed_generator_of_nan()(IDS, temperature=0), "a log-probability is nan"),
    (lambda: attend(IDS, IDS, IDS), "values must be fractions, .* and not torch.int64"),
    (lambda: attend(X, X, X, dropout=NAN, fused=True), "dropout is nan; it must be between 0"),
    (lambda: attend(X, X, X, dropout=-1.0, fused=True), "dropout is -1.0; it must be between 0"),
    (lambda: widgets.transformer_sizes({"a": BERT(bert_tiny(V))}, selected="a", alt="x"), "heads"),
    (lambda: widgets.transformer_sizes({"a": X}, selected="a", alt="x"), "'a' is Tensor; it must"),
    (lambda: LayerNorm(0), "d_model is 0"),
    (lambda: RMSNorm(1.5), "d_model is 1.5"),
    (lambda: GPT(gpt_tiny(V), dropout=NAN), "dropout is nan; it must be between 0 and 1"),
    (
        lambda: GPT(gpt_tiny(V), init_std=math.inf),
        "init_std is inf; it must be positive and finite",
    ),
    (lambda: RecurrentLM(0, 4, 4), "vocab_size is 0"),
    (lambda: RecurrentLM(V, 0, 4), "d_embedding is 0"),
    (lambda: RecurrentLM(V, 4, 1.5), "d_hidden is 1.5"),
    (lambda: RecurrentLM(V, 4, 4, 0), "n_layers is 0"),
    (lambda: RecurrentLM(V, 4, 4, 2, dropout=NAN), "dropout is nan"),
    (lambda: RecurrentLM(V, 4, 4, cell="lstm"), "cell is 'lstm'; it must be a class such as LSTM"),
    (lambda: add_lora(GPT(gpt_tiny(V)), alpha="16"), "alpha is '16'; it must be a number"),
    (lambda: load_tokenizer("tests"), "tests is a folder; name a file"),
    (lambda: BidirectionalEncoder(V, 4, 0), "d_hidden is 0"),
    (lambda: Seq2Seq(5, 5, 4, 4, eos_id=9), "eos_id is 9; the vocabulary has 5 tokens, 0 to 4"),
    (lambda: Seq2Seq(0, 5, 4, 4, eos_id=0), "source_vocab_size is 0"),
    (lambda: FixedWindowLM(0, 2, 3, 4, eos_id=0), "vocab_size is 0"),
    (lambda: FixedWindowLM(5, 2, 0, 4, eos_id=0), "d_embedding is 0"),
    (lambda: AttentionLM(0, 8, 2), "vocab_size is 0"),
    (lambda: NGram.fit([[1, 2]], 1.5, 5, 0), "order is 1.5"),
    (lambda: NGram.fit([[1.5, 2]], 2, 5, 0), "an id in documents is no whole number"),
    (lambda: NGram.fit([[1, 2]], 2, 5.5, 0), "vocab_size is 5.5"),
    (lambda: span_lengths(3, rng(), longest=0), "longest is 0"),
    (lambda: mask(2, 0, [1]), "special_ids are all 2 tokens"),
    (lambda: mask(V, 50, [1]), "special id 50 is outside the vocabulary of 11"),
    (lambda: delete_tokens("abc", 0.5, rng()), "ids is 'abc'; it must be a list of ids"),
    (lambda: permute_sentences("abc", [1], rng()), "ids is 'abc'"),
    (lambda: rotate("abc", rng()), "ids is 'abc'"),
    (
        lambda: pseudo_perplexity(GPT(gpt_tiny(V)), [[1]], mask_id=0, first_id=0, last_id=0),
        "model is GPT; it must be a BERT",
    ),
    (lambda: plots.bars([1, 2], value_label="x"), "values is list; it must map names to numbers"),
    (lambda: plots.bars({"a": "1"}, value_label="x"), r"values\['a'\] is '1'; it must be a number"),
    (lambda: plots.bars({"a": NAN}, value_label="x"), r"values\['a'\] is nan; it must be finite"),
    (lambda: plots.loss_curves({"a": [1, 2]}), "curve 'a' is .*; it must be a pair of x and y"),
    (lambda: plots.loss_curves([1, 2]), "curves is list; it must map names"),
    (lambda: plots.moving_average([1, 2], 1.5), "window is 1.5"),
    (lambda: plots.spread([1, NAN], 0.1), "all must be finite"),
    (lambda: plots.spread([1, 2], -0.1), "gap at least 0"),
    (lambda: plots.attention_heads(torch.ones(1, 1, 1), ["a"], layer=-1), "layer is -1"),
    (lambda: plots.positions(torch.ones(3)), r"vectors has shape \(3,\); it must be T x D"),
    (lambda: plots.show(None, alt="x"), "figure is NoneType; it must be a matplotlib figure"),
    (
        lambda: widgets.gpt_completer("gpt-small", prompt="a", alt="x", n_tokens=-1),
        "n_tokens is -1",
    ),
    (
        lambda: widgets.gap_filler("bert-small", text="[MASK]", alt="x", n_guesses=0),
        "n_guesses is 0",
    ),
    (lambda: widgets.masking_rule("a b", pool=["a"], seed=-1, alt="x"), "seed is -1"),
    (
        lambda: widgets.bpe_stepper("ab", [(b"a", b"b")], pattern="(", n_merged=1, alt="x"),
        r"pattern is '\(', no regular expression",
    ),
]


@pytest.mark.parametrize(("act", "message"), MISUSES, ids=[message for _, message in MISUSES])
def test_misuse_is_refused_by_name(act, message):
    with pytest.raises(ValueError, match=message):
        act()


def test_a_folder_that_is_no_model_is_named_for_what_it_is(tmp_path):
    trainer(folder=tmp_path).train()
    with pytest.raises(ValueError, match="it is a checkpoint: a run goes on from it"):
        load_model(list_checkpoints(tmp_path)[-1])
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").touch()
    with pytest.raises(ValueError, match=r"its model is in .*model"):
        load_model(tmp_path)


def test_what_an_evaluation_draws_changes_no_update():
    """Dropout of the next update is the same whether or not a sample was drawn before it."""
    weights = []
    for evaluation in (lambda model: {"drawn": torch.rand(())}, lambda model: {"drawn": 0.0}):
        model = GPT(gpt_tiny(V), dropout=0.5, generator=torch.Generator().manual_seed(0))
        config = TrainerConfig(n_steps=2, log_every=1, evaluate_every=1)
        trainer(model=model, config=config, evaluate=evaluation).train()
        weights.append(model.embedding.weight)
    assert torch.equal(*weights)


def test_a_damaged_checkpoint_names_the_one_before_it(tmp_path):
    config = TrainerConfig(n_steps=2, log_every=1, checkpoint_every=1)
    trainer(folder=tmp_path, config=config).train()
    (list_checkpoints(tmp_path)[-1] / "state.json").write_text("")
    with pytest.raises(CheckpointError, match=r"rename the folder: .* goes on from step-000000001"):
        trainer(folder=tmp_path, config=config).train(resume=True)


def test_one_token_repeated_predicts_itself():
    trainer(batches=Copies(torch.full((2, 5), 3))).train()


def test_optimizer_of_a_part_trains_it_where_the_rest_is_frozen():
    model = GPT(gpt_tiny(V)).requires_grad_(False)
    part = model.embedding.requires_grad_(True)
    before = part.weight.clone()
    trainer(model=model, optimizer=torch.optim.SGD(part.parameters(), lr=STEP.lr)).train()
    assert not torch.equal(part.weight, before)


def test_home_may_be_called_by_its_sign(tmp_path, monkeypatch):
    """Shells read "~" only where a word begins with it, and Python never does."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))  # on Windows
    monkeypatch.chdir(tmp_path)
    trainer(folder="~/run").train()
    assert load_checkpoint("~/run/step-000000001").step == 1
    assert len(list_checkpoints("~/run")) == len(list_checkpoints(tmp_path / "run")) == 2
    assert read_log("~/run") == read_log(tmp_path / "run") != []
    byte, sizes = ByteTokenizer(), gpt_tiny(257)
    save_model("~/m", GPT(sizes), byte, kind="gpt", structure=vars(sizes), card="")
    assert load_model("~/m").tokenizer.vocab_size == 257
    byte.save("~/bytes.json")
    assert load_tokenizer("~/bytes.json").vocab_size == 257
    write_token_file("~/tokens", [[1, 2]], V)
    assert len(TokenFile("~/tokens")) == 2
    NGram.fit([[1, 2]], 2, V, 0).save("~/n-gram")
    assert NGram.load("~/n-gram").order == 2
    assert not (tmp_path / "~").exists()


def test_names_of_files_and_folders_may_be_text(tmp_path):
    run, tokens = str(tmp_path / "run"), str(tmp_path / "tokens")
    one = trainer(folder=run)
    one.train()
    newest = list_checkpoints(run)[-1]
    assert load_checkpoint(str(newest)).step == 1
    assert read_log(run) == one.history
    assert save_checkpoint(run, 2, one.model, {}).is_dir()
    write_token_file(tokens, [[1, 2]], V)
    assert len(TokenFile(tokens)) == 2
    recipe = Recipe.of("gpt", "reference", "tiny", tokenizer="byte", context_length=8)
    assert prepare(recipe, str(tmp_path / "prepared")).tokenizer.vocab_size == 257


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--gpus", "0", "--flops", "1e21"], "--gpus is 0; it must be at least 1"),
        (["--gpus", "-1", "--days", "1"], "--gpus is -1; it must be at least 1"),
        (["--days", "nan"], "--days is nan; it must be positive"),
        (["--flops", "inf"], "--flops is inf; it must be positive and finite"),
        (["--days", "1", "--mfu", "2"], "mfu is 2.0; it must be above 0 and at most 1"),
    ],
)
def test_a_plan_for_nothing_is_refused_in_one_line(words, message, capsys):
    with pytest.raises(SystemExit):
        planning.main(words)
    assert message in capsys.readouterr().err


def test_numpy_numbers_are_saved(tmp_path):
    sizes = {"order": np.int64(2), "vocab_size": np.int64(5), "eos_id": np.int64(0)}
    NGram.fit([[1, 2]], **sizes).save(tmp_path / "n-gram")
    assert NGram.load(tmp_path / "n-gram").vocab_size == 5


def test_precision_is_the_configs_and_not_what_is_around_the_trainer():
    losses = []
    for is_around in (False, True):
        torch.manual_seed(0)
        of_model = trainer(model=GPT(gpt_tiny(V)))
        with torch.autocast("cpu", torch.bfloat16, enabled=is_around):
            losses.append(of_model.train()[0]["loss"])
    assert losses[0] == losses[1]

"""What is no text, or no ids, is refused by every tokenizer and batcher, by name."""

import math
import re

import jaxtyping
import numpy as np
import pytest
import torch

from course_pkg.evaluation.scoring import pseudo_log_probs
from course_pkg.models.recurrent import RecurrentLM, TruncatedBPTT
from course_pkg.text.batches import (
    Batches,
    example_batches,
    mixed_windows,
    next_token_rows,
    pack_documents,
    pad_rows,
    random_windows,
    stream_batches,
    translation_rows,
    window_batches,
)
from course_pkg.text.batches.formatting import TaskFormat, shorten
from course_pkg.text.batches.masking import (
    SentencePair,
    fill_sentinels,
    join_pair,
    mask_tokens,
    may_mask,
    random_spans,
    spans_to_sentinels,
)
from course_pkg.text.batches.noising import infill_spans, permute_sentences
from course_pkg.text.batches.pretraining import (
    BERT_TOKENS,
    masked_batches,
    n_sentinels,
    permuted_batches,
    sentinel_tokens,
    span_batches,
)
from course_pkg.text.batches.token_files import write_token_file
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.stories.translation import sample_translations
from course_pkg.text.tokenizers import (
    BytePairTokenizer,
    ByteTokenizer,
    CharTokenizer,
    WordPieceTokenizer,
    WordTokenizer,
)

NAN = float("nan")
TEXTS = ["a cat sat", "a dog"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"acdgost"]
TOKENIZERS = {
    "word": lambda: WordTokenizer.train(TEXTS),
    "char": lambda: CharTokenizer.train(TEXTS),
    "byte": lambda: ByteTokenizer(),
    "byte pair": lambda: BytePairTokenizer.train(TEXTS, vocab_size=260),
    "fast byte pair": lambda: BytePairTokenizer.train(TEXTS, vocab_size=260).to_fast(),
    "word piece": lambda: WordPieceTokenizer(PIECES),
}
IDS = torch.arange(40) % 9


@pytest.fixture(autouse=True)
def as_readers_run_it():
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request):
    return TOKENIZERS[request.param]()


@pytest.mark.parametrize("text", [["a"], ["a", "b"], b"a", None, 5, ("a",)], ids=repr)
def test_encode_takes_one_text(tokenizer, text):
    with pytest.raises(ValueError, match=rf"^text is {type(text).__name__}; it must be one string"):
        tokenizer.encode(text)


WRONG_IDS = [5, "abc", None, 1.5, torch.tensor(3), torch.tensor([[1, 2]]), np.array([[1]])]


@pytest.mark.parametrize("ids", WRONG_IDS, ids=repr)
def test_decode_takes_one_list_of_ids(tokenizer, ids):
    with pytest.raises(ValueError, match=rf"^ids is {type(ids).__name__}.*; it must be one list"):
        tokenizer.decode(ids)


NO_NUMBERS = [[1.5], ["a"], [[1]], [None], [True], torch.tensor([1.0]), torch.tensor([True])]


@pytest.mark.parametrize("ids", NO_NUMBERS, ids=repr)
def test_decode_takes_whole_numbers(tokenizer, ids):
    with pytest.raises(ValueError, match=r"^ids has .*; an id must be a whole number"):
        tokenizer.decode(ids)


def test_ids_of_any_kind_are_decoded(tokenizer):
    ids = tokenizer.encode("a cat")
    kinds = [tuple, np.array, torch.tensor, iter, lambda i: [np.uint16(x) for x in i]]
    assert {tokenizer.decode(kind(ids)) for kind in kinds} == {tokenizer.decode(ids)}


@pytest.mark.parametrize("kind", [WordTokenizer, CharTokenizer, BytePairTokenizer])
def test_training_takes_a_list_of_texts(kind):
    sizes = {"vocab_size": 260} if kind is BytePairTokenizer else {}
    for texts, message in (
        ([], "texts contain no"),
        ([""], "texts contain no"),
        ("a cat", "texts is 'a cat', one string"),
        (None, "texts is NoneType"),
        ([["a"]], r"texts\[0\] is list"),
        (["a", b"a"], r"texts\[1\] is bytes"),
    ):
        with pytest.raises(ValueError, match=message):
            kind.train(texts, **sizes)
    for special in ("[MASK]", [5], [""], 5):
        with pytest.raises(ValueError, match=r"special_tokens (is|has) "):
            kind.train(TEXTS, special_tokens=special, **sizes)
    with pytest.raises(ValueError, match=r"special_tokens is '\[MASK\]'"):
        ByteTokenizer("[MASK]")
    for count in (0, 1.5, None):
        with pytest.raises(ValueError, match=f"^min_count is {count}"):
            kind.train(TEXTS, min_count=count, **sizes)


def test_a_pattern_must_be_one():
    with pytest.raises(ValueError, match=r"pattern is '\(', no regular expression"):
        WordTokenizer.train(TEXTS, pattern="(")
    with pytest.raises(ValueError, match=r"pattern is '\(', no regular expression"):
        BytePairTokenizer.train(TEXTS, vocab_size=260, pattern="(")
    with pytest.raises(ValueError, match=r"write its groups \(\?:"):
        WordTokenizer.train(TEXTS, pattern=r"(\w)\w*")


def test_a_batch_of_texts_is_no_text():
    fast = TOKENIZERS["fast byte pair"]()
    for texts, message in (("abc", "one string"), (["a", 5], r"texts\[1\] is int")):
        with pytest.raises(ValueError, match=message):
            fast.encode_batch(texts)


def example_rows(n):
    return example_batches([[1], [2]], lambda rows, _: next_token_rows(rows, 0), n, seed=0)


MASKS = {"special_ids": dict(zip(BERT_TOKENS, (6, 7, 8), strict=True)), "seed": 0}
BATCHERS = {
    "windows": lambda n: window_batches(IDS, 4, n, seed=0),
    "streams": lambda n: stream_batches(IDS, 4, n),
    "random windows": lambda n: random_windows(IDS, 4, n, torch.Generator()),
    "examples": example_rows,
    "mixture": lambda n: mixed_windows(IDS, [(0, 40, 1)], 4, n, seed=0),
    "masked": lambda n: masked_batches(IDS, 8, n, vocab_size=9, **MASKS),
    "permuted": lambda n: permuted_batches(IDS, 8, n, **MASKS),
    "spans": lambda n: span_batches(IDS, 8, n, sentinel_ids=[10, 11], eos_id=0, seed=0),
    "truncated BPTT": lambda n: TruncatedBPTT(RecurrentLM(9, 4, 4), n),
    "scoring": lambda n: pseudo_log_probs(
        None, [[1]], mask_id=0, first_id=0, last_id=0, batch_size=n
    ),
}


@pytest.mark.parametrize("n", [0, -1, 1.5, None, NAN, "2"])
@pytest.mark.parametrize("name", BATCHERS)
def test_batches_have_a_row_at_least(name, n):
    with pytest.raises(ValueError, match=f"^batch_size is {n!r}; it must be"):
        BATCHERS[name](n)


@pytest.mark.parametrize("name", [name for name in BATCHERS if name != "scoring"])
def test_numpy_numbers_are_numbers(name):
    batches = BATCHERS[name](np.int64(2))
    if isinstance(batches, Batches):
        assert len(batches.next_batch()) >= 2


@pytest.mark.parametrize("name", ["windows", "streams", "random windows", "mixture", "spans"])
@pytest.mark.parametrize("ids", [[1, 2, 3], IDS.view(4, 10), IDS.float(), "abc", None], ids=str)
def test_a_stream_is_one_row_of_ids(name, ids):
    make = {
        "windows": lambda: window_batches(ids, 4, 2, seed=0),
        "streams": lambda: stream_batches(ids, 4, 2),
        "random windows": lambda: random_windows(ids, 4, 2, torch.Generator()),
        "mixture": lambda: mixed_windows(ids, [(0, 40, 1)], 4, 2, seed=0),
        "spans": lambda: span_batches(ids, 8, 2, sentinel_ids=[10, 11], eos_id=0, seed=0),
    }
    with pytest.raises(ValueError, match=r"^ids is .*; it must be one row of ids"):
        make[name]()


@pytest.mark.parametrize("documents", ["abc", ["abc"], [b"a"], [5], [None], [1.5]], ids=repr)
def test_documents_are_lists_of_ids(documents):
    for make in (
        lambda: pack_documents(documents, 0),
        lambda: pad_rows(documents, 0),
        lambda: next_token_rows(documents, 0),
        lambda: translation_rows([(document, [1]) for document in documents], 0),
    ):
        with pytest.raises(ValueError, match=r"(is|are) .*must be a list"):
            make()


@pytest.mark.parametrize("document", [[1.0], ["a"], [None], [[1], [2, 3]]], ids=repr)
def test_ids_are_whole_numbers(document):
    for make in (lambda: pack_documents([document], 0), lambda: pad_rows([document], 0)):
        with pytest.raises(ValueError, match="an id is no whole number"):
            make()


def rng():
    return torch.Generator().manual_seed(0)


ALL = torch.ones(1, 4, dtype=torch.bool)
ROWS = IDS[:4][None]
PAIR = SentencePair([1], [2], True)
SPECIAL = MASKS["special_ids"]


def mask(**changes):
    settings = {"vocab_size": 9, "mask_id": 0, "special_ids": [1], "generator": rng()}
    return mask_tokens(ROWS, ALL, **(settings | changes))


def spans(**changes):
    settings = {"sentinel_ids": [10, 11], "eos_id": 0, "seed": 0}
    return span_batches(IDS, 8, 2, **(settings | changes))


INTEGERS = {
    "eos_id of pack_documents": lambda n: pack_documents([[1]], n),
    "eos_id of next_token_rows": lambda n: next_token_rows([[1]], n),
    "eos_id of translation_rows": lambda n: translation_rows([([1], [2])], n),
    "eos_id of span_batches": lambda n: spans(eos_id=n),
    "sentinel_ids[1] of span_batches": lambda n: spans(sentinel_ids=[10, n]),
    "sentinel_ids[1] of spans_to_sentinels": lambda n: spans_to_sentinels([1], ALL[0, :1], [10, n]),
    "sentinel_ids[0] of fill_sentinels": lambda n: fill_sentinels([1], [2], [n]),
    "special_id of mask_tokens": lambda n: mask(mask_id=n),
    "vocab_size of mask_tokens": lambda n: mask(vocab_size=n),
    "special_ids[0] of may_mask": lambda n: may_mask(ROWS, [n]),
    "special_ids['[SEP]'] of masked_batches": lambda n: masked_batches(
        IDS, 8, 2, vocab_size=9, special_ids=SPECIAL | {"[SEP]": n}, seed=0
    ),
    "special_ids['[SEP]'] of permuted_batches": lambda n: permuted_batches(
        IDS, 8, 2, special_ids=SPECIAL | {"[SEP]": n}, seed=0
    ),
    "vocab_size of masked_batches": lambda n: masked_batches(IDS, 8, 2, vocab_size=n, **MASKS),
    "context_length of masked_batches": lambda n: masked_batches(IDS, n, 2, vocab_size=9, **MASKS),
    "context_length of span_batches": lambda n: span_batches(
        IDS, n, 2, sentinel_ids=[10, 11], eos_id=0, seed=0
    ),
    "context_length of n_sentinels": n_sentinels,
    "n of sentinel_tokens": sentinel_tokens,
    "cls_id of join_pair": lambda n: join_pair(PAIR, cls_id=n, sep_id=1, longest=9),
    "sep_id of join_pair": lambda n: join_pair(PAIR, cls_id=1, sep_id=n, longest=9),
    "longest of join_pair": lambda n: join_pair(PAIR, cls_id=1, sep_id=1, longest=n),
    "n_tokens of random_spans": lambda n: random_spans(n, rng()),
    "n_tokens of shorten": lambda n: shorten([[1, 2]], n),
    "start of TaskFormat": lambda n: TaskFormat(n, 1, 2, 9),
    "extract of TaskFormat": lambda n: TaskFormat(3, 1, n, 9),
    "mask_id of infill_spans": lambda n: infill_spans([1, 2], 0.5, n, rng()),
    "end_ids[0] of permute_sentences": lambda n: permute_sentences([1, 2], [n], rng()),
    "parts[0] first of mixed_windows": lambda n: mixed_windows(IDS, [(n, 40, 1)], 4, 2, seed=0),
    "share[0] of window_batches": lambda n: window_batches(IDS, 4, 2, seed=0, share=(n, 2)),
    "share[1] of window_batches": lambda n: window_batches(IDS, 4, 2, seed=0, share=(0, n)),
    "vocab_size of write_token_file": lambda n: write_token_file("never", [[1]], n),
}


@pytest.mark.parametrize("n", [-1, 1.5, None, "0", [3]])
@pytest.mark.parametrize("what", INTEGERS)
def test_every_whole_number_of_a_batcher_is_one_by_one_rule(what, n):
    name = re.escape(what.split(" of ")[0])
    with pytest.raises(ValueError, match=rf"^{name} is {re.escape(repr(n))}; it must be"):
        INTEGERS[what](n)


@pytest.mark.parametrize("ids", [[1, -100], [-1]])
def test_documents_have_no_ids_that_no_token_has(ids):
    for make in (
        lambda: pack_documents([ids], 0),
        lambda: next_token_rows([ids], 0),
        lambda: translation_rows([(ids, [1])], 0),
        lambda: translation_rows([([1], ids)], 0),
    ):
        with pytest.raises(ValueError, match=f"an id is {min(ids)}; it must be at least 0"):
            make()
    assert pad_rows([ids], -100)[0].tolist() == [ids]  # targets may be ignored


@pytest.mark.parametrize("chunk", [[1.5], ["a"], [None], torch.ones(2)], ids=repr)
def test_token_files_take_whole_numbers(tmp_path, chunk):
    with pytest.raises(ValueError, match="it must hold whole numbers, the ids of tokens"):
        write_token_file(tmp_path / "ids", [chunk], 9)
    assert not list(tmp_path.iterdir())


def test_other_arguments_of_batchers():
    for make, message in (
        (lambda: window_batches(IDS[:1], 4, 2, seed=0), "ids has 1 tokens; it must have 2"),
        (lambda: window_batches(IDS, 0, 2, seed=0), "context_length is 0"),
        (lambda: window_batches(IDS, 4, 2, seed=-1), "seed is -1"),
        (lambda: random_windows(IDS, -4, 2, torch.Generator()), "context_length is -4"),
        (lambda: mixed_windows(IDS, [(0, 40, 1)], 0, 2, seed=0), "context_length is 0"),
        (lambda: permuted_batches(IDS, 8, 2, rate=2, **MASKS), "rate is 2"),
        (lambda: masked_batches(IDS, 8, 2, vocab_size=9, rate=15, **MASKS), "rate is 15; it must"),
        (lambda: mask(shares=(0.8, 0.3)), "shares are .*; together they must not exceed 1"),
        (lambda: spans(sentinel_ids=5), "sentinel_ids is 5; it must be a list of ids"),
        (lambda: may_mask(ROWS, "01"), "special_ids is '01'; it must be a list of ids"),
        (lambda: permute_sentences([1, 2], 0, rng()), "end_ids is 0; it must be a list of ids"),
        (lambda: masked_batches(IDS, 8, 2, vocab_size=9, special_ids=[6, 7, 8], seed=0), "is list"),
        (lambda: mask(special_ids=1), "special_ids is 1; it must be a list of ids"),
        (lambda: mask(shares=0.8), "shares are 0.8; they must be two"),
        (lambda: infill_spans([1], 0.5, 0, rng(), mean_length=math.inf), "mean_length is inf"),
        (lambda: random_spans(9, rng(), mean_length=NAN), "mean_length is nan"),
        (lambda: mixed_windows(IDS, [40], 4, 2, seed=0), r"parts\[0\] is 40; it must be \(first"),
        (lambda: window_batches(IDS, 4, 2, seed=0, share=2), r"share is 2; it must be \(number"),
        (lambda: translation_rows([[1, 2, 3]], 0), r"pair 0 is \[1, 2, 3\]"),
        (lambda: Batches(lambda _: [], lambda *_: {}, seed=0), "plan makes no batch"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_seeds_of_stories_are_whole_numbers():
    grammar = StoryGrammar()
    assert grammar.sample(np.int64(2), seed=np.int64(3)) == grammar.sample(2, seed=3)
    for seed in (-1, 1.5, None, "1"):
        with pytest.raises(ValueError, match=f"^seed is {seed!r}"):
            grammar.sample(1, seed=seed)
        with pytest.raises(ValueError, match=f"^seed is {seed!r}"):
            sample_translations(1, seed=seed)

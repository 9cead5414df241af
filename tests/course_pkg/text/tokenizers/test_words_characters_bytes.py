"""Word, character and byte tokenizers: round trips, unknown tokens, saved files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_pkg.text.tokenizers import (
    EOS,
    UNK,
    WHITESPACE_PATTERN,
    BytePairTokenizer,
    ByteTokenizer,
    CharTokenizer,
    Tokenizer,
    WordPieceTokenizer,
    WordTokenizer,
    load_tokenizer,
)
from course_pkg.text.tokenizers.vocabulary import Vocabulary

TEXTS = ["The cat sat.", "The cat didn't (really) run!", "A cat?"]

EVERY_KIND = [
    WordTokenizer.train(TEXTS, lowercase=True, special_tokens=["[MASK]"]),
    WordTokenizer.train(TEXTS, unk=None, pattern=WHITESPACE_PATTERN),
    CharTokenizer.train(TEXTS, unk="?!"),
    ByteTokenizer(["[MASK]"]),
    BytePairTokenizer.train(TEXTS, vocab_size=262, special_tokens=["[MASK]"]),
    WordPieceTokenizer([*WordPieceTokenizer.SPECIAL, "the", "c", "##at"], lowercase=True),
]


@pytest.mark.parametrize("tokenizer", EVERY_KIND, ids=lambda t: type(t).__name__)
def test_tokenizer_keeps_the_contract_and_round_trips_through_a_file(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.json"
    tokenizer.save(path)
    again = load_tokenizer(path)
    assert type(again) is type(tokenizer)
    assert isinstance(tokenizer, Tokenizer)
    assert again.tokens == tokenizer.tokens
    assert len(tokenizer.tokens) == tokenizer.vocab_size
    assert (again.eos_id, again.unk_id) == (tokenizer.eos_id, tokenizer.unk_id)
    assert again.special_ids == tokenizer.special_ids
    text = "The cat sat."
    ids = tokenizer.encode(text)
    assert again.encode(text) == ids
    assert not set(ids) & (set(tokenizer.special_ids.values()) - {tokenizer.unk_id})
    assert tokenizer.decode([*ids, tokenizer.eos_id]) == tokenizer.decode(ids)
    with pytest.raises(ValueError, match=f"id {tokenizer.vocab_size} is outside"):
        tokenizer.decode([tokenizer.vocab_size])
    with pytest.raises(ValueError, match="id -1 is outside"):
        tokenizer.decode([-1])


def test_word_tokenizer_numbers_by_frequency_then_alphabet():
    tokenizer = WordTokenizer.train(["b a b", "c a b"])
    assert tokenizer.tokens == [EOS, UNK, "b", "a", "c"]
    assert WordTokenizer.train(["b a b", "c a b"], min_count=2).tokens == [EOS, UNK, "b", "a"]
    assert WordTokenizer.train(["b a b", "c a b"], max_size=3).tokens == [EOS, UNK, "b"]


def test_word_tokenizer_cuts_words_and_marks():
    words = WordTokenizer.train(TEXTS).words("Don’t stop, O'Neil (naïve) – 3.5!")
    assert words == ["Don’t", "stop", ",", "O'Neil", "(", "naïve", ")", "–", "3", ".", "5", "!"]


def test_word_tokenizer_decodes_as_a_reader_expects():
    tokenizer = WordTokenizer.train(TEXTS)
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.lists(st.integers(2, 300)))
def test_word_tokenizer_ids_round_trip(numbers):
    tokenizer = WordTokenizer.train(["a b's ( ) [ ] { } . , ; : ! ? ' \" - $ 7 é _x"])
    ids = [2 + n % (tokenizer.vocab_size - 2) for n in numbers]
    assert tokenizer.encode(tokenizer.decode(ids)) == ids


def test_word_tokenizer_reads_the_unknown_token_as_itself_but_never_eos():
    for pattern in (WHITESPACE_PATTERN, WordTokenizer.train(["a"]).pattern):
        tokenizer = WordTokenizer.train(["a <unk> <eos> b"], pattern=pattern)
        assert tokenizer.tokens.count(UNK) == 1
        assert tokenizer.encode("<unk>") == [tokenizer.unk_id]
        assert tokenizer.eos_id not in tokenizer.encode("a <eos> [MASK] b")


def test_word_tokenizer_rejects_unknown_word_without_unknown_token():
    tokenizer = WordTokenizer.train(["a b"], unk=None)
    assert tokenizer.unk_id is None
    with pytest.raises(ValueError, match="token 'zebra' is not in the vocabulary"):
        tokenizer.encode("a zebra")
    with pytest.raises(ValueError, match="'<eos>'"):
        WordTokenizer.train(["a"], unk=None, pattern=WHITESPACE_PATTERN).encode("<eos>")


def test_training_rejects_what_gives_no_vocabulary():
    for kind in (WordTokenizer, CharTokenizer):
        with pytest.raises(ValueError, match="nothing to number"):
            kind.train(["", ""])
    with pytest.raises(ValueError, match="min_count is 0"):
        WordTokenizer.train(["a"], min_count=0)
    with pytest.raises(ValueError, match="max_size is 2; 2 special"):
        WordTokenizer.train(["a"], max_size=2)


@given(st.text())
def test_char_tokenizer_round_trips(text):
    tokenizer = CharTokenizer.train([text, "x"])
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_char_tokenizer_rejects_unknown_character():
    with pytest.raises(ValueError, match="'z'"):
        CharTokenizer.train(["abc"]).encode("az")
    with_unk = CharTokenizer.train(["abc"], unk=UNK)
    assert with_unk.encode("az") == [2, 1]


@given(st.text())
def test_byte_tokenizer_round_trips(text):
    tokenizer = ByteTokenizer()
    assert tokenizer.encode(text) == list(text.encode())
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.binary())
def test_byte_tokenizer_decodes_any_bytes_as_python_does(data):
    assert ByteTokenizer().decode(data) == data.decode("utf-8", errors="replace")


def test_byte_tokenizer_survives_lone_surrogates():
    assert ByteTokenizer().encode("a\ud800") == [97, 63]
    with pytest.raises(ValueError, match="each may occur once"):
        ByteTokenizer([EOS])


def test_vocabulary_rejects_a_token_twice():
    with pytest.raises(ValueError, match="'a' occurs twice"):
        Vocabulary(["a", "b", "a"])
    with pytest.raises(ValueError, match="'<eos>' occurs twice"):
        Vocabulary([EOS])


@pytest.mark.parametrize(
    "content", ["", "[]", "3", '{"kind": "sentence"}', '{"tokens": []}', "\x00"]
)
def test_load_rejects_what_is_no_tokenizer(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"file\.json"):
        load_tokenizer(path)
    with pytest.raises(ValueError, match=r"file\.json"):
        WordTokenizer.load(path)


def test_load_rejects_another_kind(tmp_path):
    CharTokenizer.train(["a"]).save(tmp_path / "t.json")
    with pytest.raises(ValueError, match="kind 'char', not 'word'"):
        WordTokenizer.load(tmp_path / "t.json")

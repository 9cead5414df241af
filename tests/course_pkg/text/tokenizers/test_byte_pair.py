"""Byte-pair encoding against the `tokenizers` library and GPT-2's published files."""

import gzip
import json
import random
from collections import Counter

import pytest
import regex
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import models, pre_tokenizers, trainers

from course_pkg.text.corpora import load_corpus
from course_pkg.text.stories.grammar import StoryGrammar
from course_pkg.text.stories.translation import sample_translations
from course_pkg.text.tokenizers import EOS
from course_pkg.text.tokenizers.byte_pair import (
    GPT2_PATTERN,
    BytePairTokenizer,
    from_printable,
    to_printable,
)
from course_pkg.text.tokenizers.merges import learn_merges, recount_merges

TEXTS = [
    "Low, lower, lowest: the low newer widest wideness is newer than the lowest lower.",
    "She sells sea shells; she'll say it's 1999 or 2001, naïve café 日本語 ééé aaaaaaa.\n\n  x",
]
TOKENIZER = BytePairTokenizer.train(TEXTS, vocab_size=330, min_count=1, special_tokens=["[MASK]"])

# Letters of several scripts, signs, digits, every kind of space, marks, emoji, control characters.
HOSTILE = st.text(
    st.one_of(
        st.sampled_from("abehlstw 'ésL0129.,!\n\t\r\u00a0\u2003\u200b日本ßİςΣ́🙂\u0000\u0085'"),
        st.characters(codec="utf-8", exclude_categories=["Cn"]),
    ),
    max_size=40,
)


def reference(tokenizer: BytePairTokenizer) -> tokenizers.Tokenizer:
    """The `tokenizers` library with GPT-2's own splitter and our merges."""
    ordinary = {
        to_printable(t): i for i, t in enumerate(tokenizer.vocabulary) if isinstance(t, bytes)
    }
    merges = [(to_printable(a), to_printable(b)) for a, b in tokenizer.merges]
    oracle = tokenizers.Tokenizer(models.BPE(vocab=ordinary, merges=merges))
    oracle.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return oracle


ORACLE = reference(TOKENIZER)
FAST = TOKENIZER.to_fast()


@settings(max_examples=300)
@given(HOSTILE)
def test_byte_pair_encoding_matches_tokenizers(text):
    ids = TOKENIZER.encode(text)
    assert ids == ORACLE.encode(text).ids
    assert ids == FAST.encode(text)


@settings(max_examples=150)
@given(st.dictionaries(st.text("abcd", min_size=2), st.integers(1, 5)), st.text("abcd "))
def test_encoding_matches_tokenizers_when_merges_overlap(words, text):
    """Both "ab" and "bc" fit into "abc"; the earlier merge must win."""
    counted = Counter({word.encode(): n for word, n in words.items()})
    tokens, merges = learn_merges(counted, 300, min_count=1)
    tokenizer = BytePairTokenizer([*tokens, EOS], merges)
    assert tokenizer.encode(text) == reference(tokenizer).encode(text).ids


def test_earlier_merge_wins_where_two_overlap():
    vocabulary = [bytes([b]) for b in range(256)] + [EOS, b"ab", b"bc"]
    for merges, expected in (
        ([(b"a", b"b"), (b"b", b"c")], ["ab", "c"]),
        ([(b"b", b"c"), (b"a", b"b")], ["a", "bc"]),
    ):
        tokenizer = BytePairTokenizer(vocabulary, merges)
        assert [tokenizer.tokens[i] for i in tokenizer.encode("abc")] == expected


@given(HOSTILE)
def test_byte_pair_encoding_round_trips(text):
    assert TOKENIZER.decode(TOKENIZER.encode(text)) == text
    assert FAST.decode(FAST.encode(text)) == text


@given(st.lists(st.integers(0, TOKENIZER.vocab_size - 1)))
def test_byte_pair_decoding_takes_any_ids(ids):
    data = b"".join(t for i in ids if isinstance(t := TOKENIZER.vocabulary[i], bytes))
    assert TOKENIZER.decode(ids) == data.decode("utf-8", errors="replace")


def merges_of_tokenizers(words: Counter[bytes], n_tokens: int) -> list[tuple[str, str]]:
    """Train the library on the same words; bytes become letters that sort as the bytes do."""
    letters = {word: "".join(chr(0x4E00 + b) for b in word) for word in words}
    oracle = tokenizers.Tokenizer(models.BPE())
    oracle.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(
        vocab_size=n_tokens,
        min_frequency=1,
        show_progress=False,
        initial_alphabet=[chr(0x4E00 + b) for b in range(256)],
    )
    lines = [" ".join([letters[word]] * n) for word, n in words.items()]
    oracle.train_from_iterator(lines, trainer)
    return [tuple(pair) for pair in json.loads(oracle.to_str())["model"]["merges"]]


WORDS = st.dictionaries(
    st.lists(st.sampled_from(b"abcd"), min_size=1, max_size=9).map(bytes),
    st.integers(1, 5),
    min_size=1,
    max_size=12,
)


@settings(max_examples=150)
@given(WORDS)
def test_learned_merges_match_tokenizers_ties_included(words):
    words = Counter(words)
    _, merges = learn_merges(words, 256 + 25, min_count=1)
    shown = [tuple("".join(chr(0x4E00 + b) for b in t) for t in pair) for pair in merges]
    assert shown == merges_of_tokenizers(words, 256 + 25)


@settings(max_examples=150)
@given(
    st.dictionaries(st.text("ab", min_size=1, max_size=9), st.integers(1, 5), max_size=9),
    st.integers(1, 4),
)
def test_learned_merges_match_recounting_when_letters_repeat(words, min_count):
    counted = {word.encode(): n for word, n in words.items()}
    expected = recount_merges(counted, 275, min_count)
    assert learn_merges(counted, 275, min_count) == expected


def texts_of_several_kinds() -> dict[str, str]:
    """English stories, a made-up language, names, and letters that are no English at all."""
    translations = sample_translations(60, seed=4)
    return {
        "stories": " ".join(story.text for story in StoryGrammar().sample(60, seed=4)),
        "Velu": " ".join(" ".join(pair.target) for pair in translations),
        "names": " ".join(load_corpus("names").train[:300]),
        "hostile": "naïve 日本語 日本 ааа 🙂🙂 don't  \t\n 12 123 1234 " * 3,
    }


@pytest.mark.parametrize("kind", ["stories", "Velu", "names", "hostile"])
def test_recounted_merges_of_a_text_match_tokenizers_and_learned_merges(kind):
    matches = regex.finditer(GPT2_PATTERN, texts_of_several_kinds()[kind])
    words = Counter(match.group().encode() for match in matches)
    tokens, merges = recount_merges(words, 256 + 60, min_count=1)
    assert (tokens, merges) == learn_merges(words, 256 + 60, min_count=1)
    shown = [tuple("".join(chr(0x4E00 + b) for b in t) for t in pair) for pair in merges]
    assert len(shown) >= 30
    assert shown == merges_of_tokenizers(words, 256 + 60)


def test_ties_go_to_the_smaller_first_id_then_the_smaller_second():
    words = Counter({b"xa": 2, b"bz": 2, b"by": 2})
    assert learn_merges(words, 259, min_count=1)[1] == [(b"b", b"y"), (b"b", b"z"), (b"x", b"a")]


def test_training_matches_published_example():
    # Sennrich et al. 2016, algorithm 1: low 5, lower 2, newest 6, widest 3 (without end marks)
    words = Counter({b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3})
    merges = learn_merges(words, 256 + 4, min_count=1)[1]
    # es 9, est 9, then low 7 by way of lo (l is the smaller id of lo 7 and ow 7)
    assert merges == [(b"e", b"s"), (b"es", b"t"), (b"l", b"o"), (b"lo", b"w")]


def test_training_stops_at_vocab_size_and_at_min_count():
    assert TOKENIZER.vocab_size == 330
    small = BytePairTokenizer.train(["ab ab cd"], vocab_size=999, min_count=2)
    assert small.merges == [(b"a", b"b")]  # the spaces differ: "ab" and " ab" share only this pair
    assert BytePairTokenizer.train(["ab"], vocab_size=257).vocab_size == 257


def test_special_tokens_are_text_unless_asked_for():
    text = f"a{EOS}b[MASK]"
    plain = TOKENIZER.encode(text)
    assert not set(plain) & set(TOKENIZER.special_ids.values())
    assert TOKENIZER.decode(plain) == text
    parsed = TOKENIZER.encode(text, parse_special=True)
    assert parsed == [97, TOKENIZER.eos_id, 98, TOKENIZER.special_ids["[MASK]"]]
    assert TOKENIZER.decode(parsed) == "ab"
    with pytest.raises(ValueError, match="parse_special is 'no'; it must be True or False"):
        TOKENIZER.encode(text, parse_special="no")


def test_lone_surrogates_become_question_marks():
    assert TOKENIZER.encode("a\udc80b") == TOKENIZER.encode("a?b") == FAST.encode("a\udc80b")


@given(st.binary())
def test_printable_bytes_round_trip(data):
    shown = to_printable(data)
    assert from_printable(shown) == data
    assert not regex.search(r"[\s\p{C}]", shown)


def test_printable_bytes_match_tokenizers():
    assert sorted(to_printable(bytes(range(256)))) == sorted(pre_tokenizers.ByteLevel.alphabet())
    assert to_printable(b" the\n") == "ĠtheĊ"
    with pytest.raises(ValueError, match="日"):
        from_printable("日")


def test_split_pattern_matches_tokenizers_on_words_and_spaces():
    text = "I'll say'd  don't THEY'RE 12ab,,  \n\n x\t"
    pieces = pre_tokenizers.ByteLevel(add_prefix_space=False).pre_tokenize_str(text)
    expected = [from_printable(piece).decode() for piece, _ in pieces]
    assert regex.findall(GPT2_PATTERN, text) == expected


BYTES = [bytes([b]) for b in range(256)]


@pytest.mark.parametrize(
    ("vocabulary", "merges", "message"),
    [
        ([*BYTES, EOS, b"ab", b"ab"], [], r"b'ab' twice"),
        (BYTES, [], "lacks '<eos>'"),
        ([*BYTES[:-1], EOS], [], r"lacks the byte b'\\xff'"),
        ([*BYTES, EOS], [(b"a", b"b")], "without an id"),
        ([*BYTES, EOS, b"ab", b"abc"], [(b"ab", b"c"), (b"a", b"b")], "no earlier merge"),
    ],
)
def test_tokenizer_rejects_inconsistent_merges(vocabulary, merges, message):
    with pytest.raises(ValueError, match=message):
        BytePairTokenizer(vocabulary, merges)


def test_training_rejects_bad_sizes():
    with pytest.raises(ValueError, match="vocab_size is 256"):
        BytePairTokenizer.train(["a"], vocab_size=256)
    with pytest.raises(ValueError, match="min_count is 0"):
        BytePairTokenizer.train(["a"], vocab_size=300, min_count=0)


def test_gpt2_files_round_trip_plain(tmp_path):
    ids = {
        t if isinstance(t, str) else to_printable(t): i for i, t in enumerate(TOKENIZER.vocabulary)
    }
    del ids["[MASK]"]
    (tmp_path / "vocab.json").write_text(json.dumps(ids))
    lines = [f"{to_printable(a)} {to_printable(b)}" for a, b in TOKENIZER.merges]
    (tmp_path / "merges.txt").write_text("#version: 0.2\n" + "\n".join(lines) + "\n")
    files = (tmp_path / "vocab.json", tmp_path / "merges.txt")
    again = BytePairTokenizer.from_gpt2_files(*files, eos=EOS)
    assert again.encode(TEXTS[1]) == TOKENIZER.encode(TEXTS[1])
    (tmp_path / "merges.txt").write_text("a b c\n")
    with pytest.raises(ValueError, match="'a b c'"):
        BytePairTokenizer.from_gpt2_files(*files, eos=EOS)
    (tmp_path / "vocab.json").write_text('{"a": 1}')
    with pytest.raises(ValueError, match="0 to 0"):
        BytePairTokenizer.from_gpt2_files(*files, eos=EOS)


@pytest.fixture(scope="session")
def gpt2(shared_data) -> BytePairTokenizer:
    folder = shared_data / "gpt2_bpe"
    return BytePairTokenizer.from_gpt2_files(folder / "encoder.json.gz", folder / "vocab.bpe.gz")


@pytest.mark.shared_data
def test_gpt2_ids_match_published(gpt2):
    # the ids that OpenAI's and Hugging Face's documentation show for these two lines
    assert gpt2.encode("Hello world") == [15496, 995]
    assert gpt2.encode(" Hello world") == [18435, 995]
    assert (gpt2.vocab_size, gpt2.eos_id) == (50257, 50256)
    assert gpt2.encode("<|endoftext|>", parse_special=True) == [50256]


@pytest.mark.shared_data
def test_gpt2_ids_match_tokenizers_on_hostile_text(gpt2):
    oracle = reference(gpt2)
    draw = random.Random(11)
    alphabet = "aeThnst '’.,0129\n\t\u00a0\u3000éßжあ語ال🙂\u0301\u200d\0"
    for _ in range(400):
        text = "".join(draw.choices(alphabet, k=draw.randrange(60)))
        assert gpt2.encode(text) == oracle.encode(text).ids


@pytest.mark.shared_data
@pytest.mark.slow
def test_gpt2_ids_match_tokenizers_on_a_corpus(gpt2, shared_data):
    packed = (shared_data / "wikitext2/wiki.test.tokens.gz").read_bytes()
    lines = gzip.decompress(packed).decode().split("\n")
    expected = [encoding.ids for encoding in reference(gpt2).encode_batch_fast(lines)]
    assert [gpt2.encode(line) for line in lines] == expected

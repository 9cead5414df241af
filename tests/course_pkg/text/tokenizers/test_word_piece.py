"""WordPiece against the `tokenizers` library's BERT tokenizer."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from course_pkg.text.tokenizers.word_piece import WordPieceTokenizer, split_words

PIECES = [
    *WordPieceTokenizer.SPECIAL,
    *"abcdefghijklmnopqrstuvwxyzABCSİ0123456789.,!?'$+-_()[]#語日",
    *(f"##{c}" for c in "abcdefghijklmnopqrstuvwxyz0123456789σß"),
    *("the", "un", "##aff", "##able", "σ", "##α", "##ς", "ß", "é", "ﬁ", "##ing", "over", "##over"),
]

HOSTILE = st.text(
    st.one_of(
        st.sampled_from(
            "abtheun affable éÉİΣςσß$+_-[]#.'’…«»日本語\t\n\r\u00a0\u2028\u0301\u200d\0�"
        ),
        st.characters(max_codepoint=0x4FF, exclude_categories=["Cs"]),
        # Of all of Unicode, what the age of its tables cannot change: the library's are older
        # than Python's and take some 600 newer marks for letters.
        st.characters(categories=["Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Nl", "Zs", "Co", "Sm"]),
    ),
    max_size=30,
)


def oracle(lowercase: bool) -> Tokenizer:
    """BERT's pipeline as the library ships it."""
    vocabulary = {piece: i for i, piece in enumerate(PIECES)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    return tokenizer


OURS = {fold: WordPieceTokenizer(PIECES, lowercase=fold) for fold in (True, False)}
THEIRS = {fold: oracle(fold) for fold in (True, False)}


@pytest.mark.parametrize("lowercase", [True, False])
@settings(max_examples=300)
@given(text=HOSTILE)
def test_word_piece_matches_tokenizers(lowercase, text):
    assert OURS[lowercase].encode(text) == THEIRS[lowercase].encode(text).ids


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100,
        "a" * 101,
        "unaffable",
        "UNAFFABLE!",
        "Σας ΣΑΣ",
        "日本語",
        "x\u0301y",
        "\u0085a",
        "a\x1cb",
    ],
)
def test_word_piece_matches_tokenizers_on_known_traps(text):
    for fold in (True, False):
        assert OURS[fold].encode(text) == THEIRS[fold].encode(text).ids


def test_word_piece_matches_published_example():
    # Devlin et al.'s released code explains itself with this word
    ids = OURS[True].encode("unaffable")
    assert [PIECES[i] for i in ids] == ["un", "##aff", "##able"]


def test_word_piece_decodes_as_tokenizers_without_cleanup():
    ids = OURS[True].encode("Unaffable, the unknown 語!")
    assert OURS[True].decode(ids) == THEIRS[True].decode(ids) == "unaffable , the unknown 語 !"
    unknown = OURS[True].encode("the ø")
    assert OURS[True].decode([2, *unknown, 3]) == "the [UNK]"


def test_pair_carries_segments():
    tokenizer = OURS[True]
    ids, segments = tokenizer.encode_pair("the", "un!")
    assert [PIECES[i] for i in ids] == ["[CLS]", "the", "[SEP]", "un", "!", "[SEP]"]
    assert segments == [0, 0, 0, 1, 1, 1]
    assert tokenizer.encode_pair("the")[1] == [0, 0, 0]
    assert tokenizer.encode_pair("", "")[1] == [0, 0, 1]


def test_words_split_at_every_mark():
    assert list(split_words(" a+b  «c» ")) == ["a", "+", "b", "«", "c", "»"]


def test_word_piece_loads_a_vocabulary_file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    assert WordPieceTokenizer.from_vocabulary_file(path).tokens == PIECES


def test_word_piece_rejects_bad_vocabularies():
    with pytest.raises(ValueError, match=r"lack '\[MASK\]'"):
        WordPieceTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    with pytest.raises(ValueError, match="'a' twice"):
        WordPieceTokenizer([*WordPieceTokenizer.SPECIAL, "a", "a"])

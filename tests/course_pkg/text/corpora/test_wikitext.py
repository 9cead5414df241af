"""WikiText's lines as prose."""

import pytest

from course_pkg.text.corpora.wikitext import prose_articles, undo_tokenization


@pytest.mark.parametrize(
    "tokenized, prose",
    [
        ("a well @-@ known 3 @.@ 5 to 1 @,@ 000", "a well-known 3.5 to 1,000"),
        ('" No , " she said .', '"No," she said.'),
        ("Ann 's , the players ' and it 's n't", "Ann's, the players' and it'sn't"),
        ("( born 1809 ) [ note 1 ] $ 33 , 5 % ; ok ?", "(born 1809) [note 1] $33, 5%; ok?"),
        ("nothing to fix", "nothing to fix"),
    ],
)
def test_undo_tokenization_closes_the_gaps(tokenized, prose):
    assert undo_tokenization(tokenized) == prose


def test_prose_articles_are_cut_at_titles_not_at_section_headings():
    lines = ["", "= One =", "", "First .", "= = Life = =", "Second .", "= Two =", "Third ."]
    assert prose_articles(lines) == ["One\nFirst.\nSecond.", "Two\nThird."]


def test_prose_articles_leave_out_sentences_with_unknown_words():
    lines = ["= One =", "Kept . Not <unk> this . Kept too ?", "Only <unk> .", "= Two =", "<unk> ."]
    assert prose_articles(lines) == ["One\nKept. Kept too?"]


def test_prose_articles_ignore_text_before_the_first_title():
    assert prose_articles(["Lost .", "= One =", "Kept ."]) == ["One\nKept."]

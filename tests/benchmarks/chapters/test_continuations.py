"""A rule for sentences, on sentences whose faults anyone can see."""

import pytest
import torch

from benchmarks.chapters.continuations import (
    continuations,
    faults,
    judged,
    lower_case_words,
    split_sentences,
)

WORDS = lower_case_words(
    ["the dog was there and he said that it was once a time of two, one day; so she ran and sat."]
)


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ('"Go. Now." Ann went.', ['"Go. Now."', "Ann went."]),
        ('"Why?" asked Ann. No.', ['"Why?" asked Ann.', "No."]),
        ("It cost 3.50 there. Much", ["It cost 3.50 there.", "Much"]),
        ('She said, "Come\nBack. ', ['She said, "Come', "Back."]),
        ("", []),
    ],
)
def test_sentences_end_outside_of_quotations_and_at_a_line_end(text, sentences):
    assert split_sentences(text) == sentences


@pytest.mark.parametrize(
    ("sentence", "before", "kinds"),
    [
        ("The dog was there.", [], []),
        ("The dog was", [], ["no end"]),
        ('"It was there.', [], ["open quotation"]),
        ('He said, "It was there."', [], []),
        ("the dog was the dog was there.", [], ["loop"]),
        ("The dog was there.", ["The dog was there."], ["loop"]),
        ("Tom ran.", ["Once there was Ann."], ["new name"]),
        ("Tom said it was Ann.", ["Once there was Ann."], []),
        ("There was a dog named Tom.", ["Once there was Ann."], []),
        ("Tom ran.", ["She was there."], []),
        ("She ran.", ["Once there was Ann."], []),
    ],
)
def test_rule_finds_the_fault_of_a_sentence(sentence, before, kinds):
    assert faults(sentence, before, WORDS) == kinds


def test_names_are_words_that_hardly_ever_stand_in_lower_case():
    texts = ["Mark ran. " * 30 + "the mark. Rose. A rose."]
    words = lower_case_words(texts)
    assert "rose" in words and "mark" not in words and "ran" in words


def test_share_counts_the_sentences_of_all_texts_up_to_three():
    found = judged(["One day. Two", "It was. It ran. It sat. It"], WORDS)
    assert found == {"n_sentences": 5, "percent_well_formed": 80.0, "faults": {"no end": 1}}


class Parrot:
    """Says one sentence of single-character tokens after the prompt, again and again."""

    context_length = None

    def __init__(self, sentence: str, eos_after: int | None = None):
        self.ids = [ord(symbol) for symbol in sentence]
        self.eos_after, self.vocab_size, self.eos_id = eos_after, 128, 0

    def encode(self, text):
        return [ord(symbol) for symbol in text]

    def decode(self, ids):
        return "".join(map(chr, ids))

    def __call__(self, ids, targets=None):
        raise NotImplementedError  # only the next token is asked for

    def next_log_probs(self, ids):
        n_said = ids.shape[1] - 2
        has_ended = self.eos_after is not None and n_said >= self.eos_after
        token = self.eos_id if has_ended else self.ids[n_said % len(self.ids)]
        logits = torch.full((len(ids), self.vocab_size), -1e9)
        logits[:, token] = 0.0
        return logits


def test_text_is_cut_after_three_sentences_and_where_the_limit_fell_into_one():
    parrot = Parrot("o on. And ")  # ten symbols; a hundred are drawn
    assert continuations(parrot, parrot, "S", 2) == ["So on. And o on. And o on."] * 2
    endless = Parrot("o ")
    assert continuations(endless, endless, "S", 1) == [""]
    short = Parrot("o on. And ", eos_after=8)
    assert continuations(short, short, "S", 1) == ["So on. An"]
    quoting = Parrot('o "on. And ')
    assert continuations(quoting, quoting, "S", 1)[0].startswith('So "on. And o "on.')

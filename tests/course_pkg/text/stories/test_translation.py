"""Parallel text: one translation each, and alignments that are right by the lexicon."""

import hashlib

import pytest

from course_pkg.text.stories import translation as velu
from course_pkg.text.stories.translation import (
    join_translations,
    sample_passages,
    sample_translations,
)

PINNED = "8645d1a872f4e9580a7d689a98ab09f22f949b3370ca19975fb4d86d589baa95"
SENTENCES = sample_translations(1500, seed=6)


def test_translation_is_a_function_of_the_source():
    seen: dict[tuple[str, ...], tuple] = {}
    for s in SENTENCES:
        assert seen.setdefault(s.source, (s.target, s.links)) == (s.target, s.links)
    assert len(seen) > 1000


def test_translation_matches_hand_worked_example():
    by_source = {" ".join(s.source): s for s in SENTENCES}
    s = by_source["She paints the red bat in the school ."]
    # pronoun dropped, place before object, adjective after noun and agreeing, verb last
    assert " ".join(s.target) == "domos tokon ruson pika ."
    assert s.links == {(0, 3), (1, 3), (3, 2), (4, 1), (5, 0), (7, 0), (8, 4)}


def test_links_join_words_that_the_lexicon_joins():
    nouns = {**velu.LIVING, **velu.PLACES}
    stems = {noun: {stem} for noun, (stem, _) in nouns.items()}
    for noun, (stem, _) in velu.THINGS.items():
        stems.setdefault(noun, set()).add(stem)
    words = {**velu.ADJECTIVES, **velu.VERBS_FOR_LIVING, **velu.VERBS_FOR_THINGS}
    stems |= {word: {stem} for word, stem in words.items()}
    for s in SENTENCES:
        for i, j in s.links:
            source, target = s.source[i], s.target[j]
            if source in stems:
                assert any(target.startswith(stem) for stem in stems[source])
            elif source in velu.PRONOUNS:
                assert target.endswith(velu.PRONOUNS[source])
            else:
                assert source in ("in", ".")


def test_links_cover_all_but_articles():
    for s in SENTENCES:
        silent = set(range(len(s.source))) - {i for i, _ in s.links}
        assert {s.source[i] for i in silent} <= {"The", "the", "a"}
        assert {j for _, j in s.links} == set(range(len(s.target)))


def test_polysemous_word_is_resolved_by_the_verb():
    both = set()
    for s in SENTENCES:
        if "bat" in s.source:
            target = next(s.target[j] for i, j in s.links if s.source[i] == "bat")
            is_living = bool(set(s.source) & set(velu.VERBS_FOR_LIVING))
            assert target.startswith("zif" if is_living else "tok")
            both.add(is_living)
    assert both == {True, False}


def test_stems_are_distinct():
    stems = [
        stem for stem, _ in (*velu.LIVING.values(), *velu.THINGS.values(), *velu.PLACES.values())
    ]
    words = (velu.ADJECTIVES, velu.VERBS_FOR_LIVING, velu.VERBS_FOR_THINGS)
    stems += [stem for table in words for stem in table.values()]
    assert len(stems) == len(set(stems))


def test_word_orders_differ_so_that_alignment_is_not_the_diagonal():
    crossing = sum(any(i < k and j > m for i, j in s.links for k, m in s.links) for s in SENTENCES)
    assert crossing > 0.99 * len(SENTENCES)


def test_translations_are_pinned():
    text = "\n".join(" ".join((*s.source, *s.target)) for s in SENTENCES[:200])
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED


def test_translations_reject_a_negative_number():
    with pytest.raises(ValueError, match="n is -1"):
        sample_translations(-1, seed=0)


def test_passage_links_each_word_as_its_sentence_does():
    first, second = SENTENCES[:2]
    passage = join_translations([first, second])
    assert passage.source == first.source + second.source
    assert passage.target == first.target + second.target
    inside = {(i, j) for i, j in passage.links if i < len(first.source)}
    assert inside == first.links
    words = {(passage.source[i], passage.target[j]) for i, j in passage.links - inside}
    assert words == {(second.source[i], second.target[j]) for i, j in second.links}
    assert len(passage.links) == len(first.links) + len(second.links)


def test_passages_have_every_number_of_sentences_about_equally_often():
    n_sentences = [passage.source.count(".") for passage in sample_passages(900, longest=3, seed=4)]
    assert set(n_sentences) == {1, 2, 3}
    # 300 expected, standard deviation 14
    assert all(230 < n_sentences.count(n) < 370 for n in (1, 2, 3))


def test_passages_are_the_same_for_the_same_seed():
    assert sample_passages(9, longest=3, seed=1) == sample_passages(9, longest=3, seed=1)
    assert sample_passages(9, longest=3, seed=1) != sample_passages(9, longest=3, seed=2)


def test_passages_rejects_too_few_sentences():
    with pytest.raises(ValueError, match="longest is 0"):
        sample_passages(3, longest=0, seed=1)
    with pytest.raises(ValueError, match="sentences is empty"):
        join_translations([])

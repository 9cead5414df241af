"""Parallel text: one translation each, and alignments that are right by the lexicon."""

import hashlib

import pytest

from course_pkg.text import story_translation as velu
from course_pkg.text.story_translation import sample_translations

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

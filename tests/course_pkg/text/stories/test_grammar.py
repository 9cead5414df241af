"""The source of known entropy: its analytic entropy, its filter, its stories."""

import hashlib
import math
import random
from collections import Counter

import numpy as np
import pytest
import torch

from course_pkg.evaluation.likelihood import evaluate, token_log_probs
from course_pkg.models import IGNORE, LanguageModel
from course_pkg.text.stories import lexicon
from course_pkg.text.stories.grammar import Story, StoryGrammar
from course_pkg.text.stories.oracle import StoryOracle
from course_pkg.text.tokenizers import EOS, WordTokenizer

GRAMMAR = StoryGrammar()
STORIES = GRAMMAR.sample(200, seed=7)
PINNED = "a94abd908c1589a88a97bd06eccb06905b55047737728c63b106e1b6ab017645"
VARIANTS = [
    GRAMMAR,
    StoryGrammar(more=0.0),
    StoryGrammar(n_distractions=3),
    StoryGrammar(mood_consistency=1.0),
    StoryGrammar(mood_consistency=0.0, more=0.3),
]


def nats(grammar: StoryGrammar, story: Story) -> float:
    return -sum(grammar.log_probs(story.words))


@pytest.mark.parametrize("grammar", VARIANTS, ids=["default", "none", "three", "sure", "contrary"])
def test_entropy_matches_monte_carlo(grammar):
    entropy, n_tokens = grammar.entropy()
    sample = grammar.sample(400, seed=3)
    information = np.array([nats(grammar, story) for story in sample])
    lengths = np.array([len(story.words) + 1 for story in sample])
    for exact, drawn in ((entropy, information), (n_tokens, lengths)):
        # within 3 standard errors: the seed is fixed, so this never flickers
        assert abs(drawn.mean() - exact) <= 3 * drawn.std() / math.sqrt(len(drawn)) + 1e-9


def test_entropy_matches_hand_worked_part():
    """Ending only: a template of two, then a word of four by Zipf in a mood kept or not."""
    zipf = np.array([1, 1 / 2, 1 / 3, 1 / 4])
    zipf /= zipf.sum()
    word = -(zipf * np.log(zipf)).sum()
    mood = -(0.85 * math.log(0.85) + 0.15 * math.log(0.15))
    sure = StoryGrammar(mood_consistency=1.0).entropy()[0]
    assert GRAMMAR.entropy()[0] - sure == pytest.approx(mood, abs=1e-10)
    total = math.log(2) + word  # what the ending adds when the mood is sure
    assert 0 < total < sure


def test_distractions_add_their_own_entropy_each():
    one, two, five = (StoryGrammar(n_distractions=n).entropy() for n in (1, 2, 5))
    for i in range(2):  # nats, tokens
        assert five[i] - two[i] == pytest.approx(3 * (two[i] - one[i]), abs=1e-10)
    # a geometric number of distractions: its mean is more / (1 - more)
    assert GRAMMAR.entropy()[1] == pytest.approx(
        one[1] + (0.6 / 0.4 - 1) * (two[1] - one[1]), abs=1e-10
    )


def test_filter_sums_to_one_at_every_step():
    for story in STORIES[:60]:
        reader = GRAMMAR.start()
        for word in (*story.words, EOS):
            assert sum(reader.next_probs().values()) == pytest.approx(1, abs=1e-12)
            reader = reader.read(word)


def generator_log_prob(story: Story, grammar: StoryGrammar) -> float:
    """Retell a story by its choices alone, with the grammar's published tables."""

    def pick(kind: str, word: str, memory: dict[str, str]) -> float:
        if kind.startswith("feeling"):
            mood = lexicon.GLAD if word in lexicon.GLAD else lexicon.SAD
            share = 0.5
            if kind == "feeling_again":
                share = (
                    0.85 if (word in lexicon.GLAD) == (memory["feeling"] in lexicon.GLAD) else 0.15
                )
        else:
            mood, share = lexicon.LEXICON[kind], 1.0
        ranks = sum(1 / r for r in range(1, len(mood) + 1))
        return math.log(share / (mood.index(word) + 1) / ranks)

    def tell(state: str, words: tuple[str, ...], memory: dict[str, str]) -> list[float]:
        if state == "end":
            return [0.0] if not words else []
        if state == "middle":
            go_on = [math.log(0.6) + p for p in tell("distraction", words, memory)]
            return go_on + [math.log(0.4) + p for p in tell("return", words, memory)]
        found = []
        for p, said, after in lexicon.STORY[state]:
            told, log_p = dict(memory), math.log(p)
            template = said.split()
            if len(template) > len(words):
                continue
            for slot, word in zip(template, words, strict=False):
                kind = slot[1:-1]
                if slot[0] == "[":
                    options = lexicon.LEXICON.get(kind, lexicon.GLAD + lexicon.SAD)
                    if word not in options:
                        break
                    log_p += pick(kind, word, told)
                    told[kind] = word
                elif word != (lexicon.recall(kind, told) if slot[0] == "{" else slot):
                    break
            else:
                found += [log_p + rest for rest in tell(after, words[len(template) :], told)]
        return found

    (log_prob,) = tell("opening", story.words, {})  # exactly one way to tell it
    return log_prob


def test_filter_total_matches_the_generator():
    for story in STORIES[:80]:
        expected = generator_log_prob(story, GRAMMAR)
        assert -nats(GRAMMAR, story) == pytest.approx(expected, abs=1e-9)


def test_every_story_has_exactly_one_parse():
    assert {GRAMMAR.n_parses(story.words) for story in STORIES} == {1}
    assert GRAMMAR.n_parses(("Anna", "sang")) == 0
    assert GRAMMAR.n_parses(STORIES[0].words[:-1]) == 0


def test_sampled_text_is_pinned():
    """The same seed tells the same stories on every Python; the book's numbers rest on it."""
    text = "\n".join(story.text for story in GRAMMAR.sample(200, seed=1729))
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED


def test_samples_depend_on_nothing_but_the_seed():
    random.seed(1)
    first = GRAMMAR.sample(3, seed=5)
    random.seed(2)
    assert GRAMMAR.sample(3, seed=5) == first != GRAMMAR.sample(3, seed=6)
    assert GRAMMAR.sample(2, seed=5) == first[:2]


def test_text_gives_back_its_words():
    tokenizer = WordTokenizer.train(story.text for story in STORIES)
    for story in STORIES:
        assert tuple(tokenizer.words(story.text)) == story.words
        assert tokenizer.decode(tokenizer.encode(story.text)) == story.text


def test_recalled_words_are_certain_given_the_whole_past():
    """A perfect reader knows them once the template is clear; the word before often decides."""
    for story in STORIES[:40]:
        scores = GRAMMAR.log_probs(story.words)
        for position, slot in story.recalls:
            if slot in ("place", "object", "was", "her", "her_object"):
                assert scores[position] == pytest.approx(0, abs=1e-12)


def test_recalls_tell_the_truth():
    for story in STORIES:
        for position, slot in story.recalls:
            word = story.words[position]
            if slot in lexicon.PRONOUNS:
                hero = next(w for w in story.words if w in lexicon.GIRLS + lexicon.BOYS)
                assert word == lexicon.PRONOUNS[slot][hero in lexicon.BOYS]
            elif slot == "was":
                animal = story.words[position - 4]
                assert word == ("were" if animal in lexicon.PLURAL.values() else "was")
            else:
                assert word in story.words[:position]


def test_number_of_distractions_is_the_knob():
    for n in (0, 1, 4):
        stories = StoryGrammar(n_distractions=n).sample(20, seed=1)
        assert {story.n_distractions for story in stories} == {n}
    drawn = np.array([story.n_distractions for story in GRAMMAR.sample(1500, seed=2)])
    # geometric with mean 1.5 and variance 3.75
    assert abs(drawn.mean() - 1.5) < 3 * math.sqrt(3.75 / 1500)


def test_oracle_reaches_the_floor():
    tokenizer = WordTokenizer(
        WordTokenizer.train([" ".join(GRAMMAR.vocabulary())], unk=None).vocabulary
    )
    oracle = StoryOracle(GRAMMAR, tokenizer)
    assert isinstance(oracle, LanguageModel)
    documents = [tokenizer.encode(story.text) for story in STORIES[:50]]
    scores = token_log_probs(oracle, documents, eos_id=tokenizer.eos_id)
    for story, row in zip(STORIES, scores, strict=False):
        assert row.tolist() == pytest.approx(GRAMMAR.log_probs(story.words), abs=1e-10)
    found = evaluate(oracle, documents, eos_id=tokenizer.eos_id, as_stream=True)
    # after <eos> a new story begins, so a stream is no easier than single documents
    alone = evaluate(oracle, documents, eos_id=tokenizer.eos_id)
    assert found.nats_per_token == pytest.approx(alone.nats_per_token, abs=1e-10)


def test_oracle_gives_logits_loss_and_next_word():
    tokenizer = WordTokenizer.train([" ".join(GRAMMAR.vocabulary())])
    oracle = StoryOracle(GRAMMAR, tokenizer)
    ids = torch.tensor([[tokenizer.eos_id, *tokenizer.encode("Tom ran to")], [0, 5, 5, 5]])
    targets = torch.full_like(ids, IGNORE)
    targets[0, :3] = ids[0, 1:]
    logits, loss = oracle(ids, targets)
    assert loss.item() == pytest.approx(
        -sum(GRAMMAR.log_probs(["Tom", "ran", "to"])[:3]) / 3, abs=1e-10
    )
    assert logits.exp().sum(-1).flatten().tolist() == pytest.approx([1.0] * 8, abs=1e-10)
    assert tokenizer.tokens[oracle.next_log_probs(ids)[0].argmax()] == "the"
    # after what no story says, every token alike
    assert logits[1, 3].exp().tolist() == pytest.approx([1 / oracle.vocab_size] * oracle.vocab_size)


def test_oracle_rejects_a_tokenizer_that_lacks_a_word():
    with pytest.raises(ValueError, match="does not know"):
        StoryOracle(GRAMMAR, WordTokenizer.train(["Anna"]))


def test_vocabulary_is_what_stories_say():
    said = {word for story in GRAMMAR.sample(1000, seed=8) for word in story.words}
    assert said == set(GRAMMAR.vocabulary())
    assert 90 <= len(said) <= 130


def witten_bell_perplexity(order: int, train: list[Story], test: list[Story]) -> float:
    """Interpolated n-grams in a few lines, independent of the package's models."""
    seen: dict[tuple[str, ...], Counter[str]] = {}
    for story in train:
        text = (EOS, *story.words, EOS)
        for i in range(1, len(text)):
            for k in range(min(order, i + 1)):
                seen.setdefault(text[i - k : i], Counter())[text[i]] += 1
    total = {history: sum(counts.values()) for history, counts in seen.items()}
    information, n_tokens = 0.0, 0
    for story in test:
        text = (EOS, *story.words, EOS)
        for i in range(1, len(text)):
            p = 1 / len(GRAMMAR.vocabulary())
            for k in range(min(order, i + 1)):
                counts = seen.get(text[i - k : i])
                if counts is None:
                    break
                n, kinds = total[text[i - k : i]], len(counts)
                p = (counts[text[i]] + kinds * p) / (n + kinds)
            information -= math.log(p)
            n_tokens += 1
    return math.exp(information / n_tokens)


@pytest.mark.slow
def test_ngrams_level_off_well_above_the_floor():
    train, test = GRAMMAR.sample(2000, seed=1), GRAMMAR.sample(150, seed=2)
    scores = [witten_bell_perplexity(order, train, test) for order in (1, 2, 3, 5)]
    assert scores == sorted(scores, reverse=True)
    # from 19,000 stories: 65, 3.8, 2.4, 2.02 against a floor of 1.65; the gap is memory's worth
    assert scores[-1] > 1.2 * GRAMMAR.floor_perplexity()


def test_grammar_rejects_bad_settings():
    with pytest.raises(ValueError, match=r"more is 1\.0"):
        StoryGrammar(more=1.0)
    with pytest.raises(ValueError, match=r"mood_consistency is 1\.5"):
        StoryGrammar(mood_consistency=1.5)
    with pytest.raises(ValueError, match="n_distractions is -1"):
        StoryGrammar(n_distractions=-1)
    with pytest.raises(ValueError, match="n is -2"):
        GRAMMAR.sample(-2, seed=1)
    with pytest.raises(ValueError, match="'Tom' cannot come next"):
        GRAMMAR.start().read("Tom").read("Tom")
    assert GRAMMAR.log_probs(["Tom", "Tom", "Tom"])[1:] == [-math.inf] * 3

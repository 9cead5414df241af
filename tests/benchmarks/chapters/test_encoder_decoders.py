"""The comparison of objectives: its tasks by hand, its decoder against GPT, its masks."""

import pytest
import torch

from benchmarks.chapters.encoder_decoders import ANSWER, ARMS, SHORTEN, Decoder, Stories, make_model
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer_config import TransformerConfig
from course_pkg.text.batches import translation_rows
from course_pkg.text.batches.masking import fill_sentinels
from course_pkg.text.batches.pretraining import MASK

TEXT = (
    "One day, Tom ran to the lake. He was sad. He had a red kite. There was some rain. "
    "At noon Tom left the lake with the red kite. At home, he was sad."
)
SHORT = "Tom went to the lake with a red kite."


@pytest.fixture(scope="module")
def stories() -> Stories:
    return Stories(n_train=40, n_test=4)


def test_tasks_ask_what_the_story_says(stories):
    said = {}
    for source, target in stories.tasks(TEXT):
        name = [k for k, i in stories.special_ids.items() if i in source]
        said[tuple(name)] = stories.tokenizer.decode(target)
    assert said == {
        (ANSWER, "who?"): "Tom",
        (ANSWER, "where?"): "lake",
        (ANSWER, "what?"): "kite",
        (ANSWER, "colour?"): "red",
        (SHORTEN,): SHORT,
    }


def test_objectives_lose_nothing(stories):
    generator = torch.Generator().manual_seed(0)
    story = stories.tokenizer.encode(TEXT)
    assert stories.pair(story, "causal LM", generator) == ([], story)
    source, target = stories.pair(story, "prefix LM", generator)
    assert source + target == story
    assert source and target
    source, target = stories.pair(story, "span corruption", generator)
    assert fill_sentinels(source, target, stories.sentinel_ids) == story
    source, target = stories.pair(story, "denoising", generator)
    assert target == story
    kept = [token for token in source if token != stories.special_ids[MASK]]
    assert len(story) - len(kept) == round(0.3 * len(story))
    with pytest.raises(ValueError, match="objective is 'sorting'"):
        stories.pair(story, "sorting", generator)


@pytest.mark.parametrize("objective", ["spans on names", "spans turned at random"])
def test_turned_spans_hide_as_much_and_lose_nothing(stories, objective):
    for seed, story in enumerate(stories.train[:20]):
        first, second = (torch.Generator().manual_seed(seed) for _ in range(2))
        source, target = stories.pair(story, objective, first)
        plain, _ = stories.pair(story, "span corruption", second)
        assert fill_sentinels(source, target, stories.sentinel_ids) == story
        hidden = [len([i for i in ids if i in stories.sentinel_ids]) for ids in (source, plain)]
        assert len(source) - hidden[0] == len(plain) - hidden[1]
        assert hidden[0] - hidden[1] in (0, 1)  # the end of the story may cut one span in two


def test_spans_on_names_ask_for_more_that_can_be_fetched(stories):
    asked = stories.names_to_fetch("spans on names")
    assert asked > stories.names_to_fetch("spans turned at random") + 0.5
    assert asked > stories.names_to_fetch("span corruption") + 0.5


def test_objectives_process_as_many_tokens(stories):
    steps = {o: stories.n_steps(o, 10**5) for o in ("causal LM", "prefix LM", "denoising")}
    assert steps["causal LM"] == steps["prefix LM"] > 1.5 * steps["denoising"]


def decoder(sees_all: bool) -> tuple[GPT, Decoder]:
    sizes = {"d_model": 16, "n_heads": 2, "n_layers": 2, "d_ff": 32}
    config = TransformerConfig(vocab_size=20, context_length=64, positions="rotary", **sizes)
    gpt = GPT(config, init_std=0.25, generator=torch.Generator().manual_seed(0)).eval()
    return gpt, Decoder(gpt, 0, sees_all_of_source=sees_all).eval()


def test_causal_decoder_matches_gpt_on_the_joined_text():
    gpt, model = decoder(False)
    pairs = [([3, 4, 5], [6, 7]), ([8], [9, 10, 11])]
    with torch.no_grad():
        logits = model(**translation_rows(pairs, 0))[0]
        gpt.stack.is_causal = True
        for row, (source, target) in enumerate(pairs):
            expected = gpt(torch.tensor([[*source, 0, *target]]))[0][0, len(source) :]
            found = logits[row, : len(target) + 1]
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)  # float32


@pytest.mark.parametrize("sees_all", [True, False])
def test_only_a_prefix_lm_lets_the_source_look_ahead(sees_all):
    gpt, model = decoder(sees_all)
    seen = []
    gpt.stack.register_forward_hook(lambda _, __, out: seen.append(out.detach()))
    for last in (5, 6):  # the last token of the source changes
        model(**translation_rows([([3, 4, last], [7])], 0))
    assert bool((seen[0][0, 0] - seen[1][0, 0]).abs().max() > 1e-6) == sees_all


def test_shapes_cost_alike_and_decoders_have_fewer_weights(stories):
    sizes = {
        arm.shape: sum(p.numel() for p in make_model(arm, 146, 0, 0).parameters())
        for arm in ARMS.values()
    }
    assert sizes["decoder"] == sizes["prefix decoder"] < sizes["encoder–decoder"] / 2

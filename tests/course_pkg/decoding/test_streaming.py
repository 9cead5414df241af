"""One text at a time, with guesses: the same text, the same distribution, fewer passes."""

from collections import Counter
from dataclasses import replace

import pytest
import torch

from course_pkg.decoding.generation import generate
from course_pkg.decoding.samplers import next_token_probs
from course_pkg.decoding.streaming import Streamer, prompt_lookup
from course_pkg.models.adaptation import add_lora
from course_pkg.models.gpt import GPT, gpt_tiny, llama_like_small

V = 7


def llama_tiny():
    """The structure for which there is a fast way to read one token."""
    return replace(
        llama_like_small(V, 64), d_model=32, n_heads=4, n_kv_heads=2, n_layers=2, d_ff=48
    )


@pytest.fixture
def model():
    """Scores that differ clearly, so that no rounding tips a choice."""
    return GPT(gpt_tiny(V), init_std=0.3, generator=torch.Generator().manual_seed(3)).eval()


def stream(model, ids, n_tokens, **choices):
    return list(Streamer(model).stream(ids, n_tokens, **choices))


def random_draft(seed):
    """Guesses that are sometimes right: any tokens, four at once."""
    generator = torch.Generator().manual_seed(seed)
    return lambda ids: torch.randint(V, (4,), generator=generator).tolist()


@pytest.mark.parametrize("draft", [None, prompt_lookup, random_draft(0)])
def test_greedy_text_is_that_of_generate(model, draft):
    expected = generate(model, torch.tensor([[1, 2, 3]]), 40, temperature=0)[0, 3:].tolist()
    assert stream(model, [1, 2, 3], 40, temperature=0, draft=draft) == expected


def test_text_that_repeats_takes_fewer_passes(model):
    with torch.no_grad():
        model.stack.final_norm.weight.zero_()
        model.stack.final_norm.bias.copy_(model.embedding.weight[5] * 10)  # always token 5
    streamer = Streamer(model)
    assert list(streamer.stream([1, 5, 5, 5], 30, temperature=0, draft=prompt_lookup)) == [5] * 30
    assert streamer.n_tokens == 30
    assert streamer.n_passes <= 15  # two tokens a pass at least


def test_drawn_text_is_the_same_with_guesses_and_without(model):
    """One draw for each token, in order: the guesses use up no randomness."""
    texts = [
        stream(model, [1, 2], 40, generator=torch.Generator().manual_seed(5), draft=draft)
        for draft in (None, prompt_lookup, random_draft(1))
    ]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.exhaustive_but("0")
@pytest.mark.parametrize("guess", range(3))
def test_with_any_guess_two_tokens_have_the_models_own_distribution(model, guess):
    """Pearson's test of 300 draws of two tokens against the product of the model's own."""
    generator = torch.Generator().manual_seed(guess)
    n = 300
    counts = Counter(
        tuple(stream(model, [1, 2], 2, generator=generator, draft=lambda ids: [guess, guess]))
        for _ in range(n)
    )
    with torch.no_grad():
        first = next_token_probs(model.next_log_probs(torch.tensor([[1, 2]])))[0]
        second = [
            next_token_probs(model.next_log_probs(torch.tensor([[1, 2, a]])))[0] for a in range(V)
        ]
    expected = {(a, b): n * float(first[a] * second[a][b]) for a in range(V) for b in range(V)}
    pooled_found = pooled = statistic = 0.0
    degrees = -1
    for pair, mean in expected.items():
        if mean < 5:  # too rare for the test: all together are one kind
            pooled, pooled_found = pooled + mean, pooled_found + counts[pair]
            continue
        statistic += (counts[pair] - mean) ** 2 / mean
        degrees += 1
    if pooled:
        statistic, degrees = statistic + (pooled_found - pooled) ** 2 / pooled, degrees + 1
    # The mean of chi-squared and four of its deviations.
    assert statistic < degrees + 4 * (2 * degrees) ** 0.5


def test_a_second_text_reads_only_what_is_new_and_gives_what_a_fresh_one_gives(model):
    streamer = Streamer(model)
    first = list(streamer.stream([1, 2, 3], 5, temperature=0))
    longer = [1, 2, 3, *first, 4]
    read = []
    encode = model.encode
    model.encode = lambda ids, **kwargs: read.append(ids.shape[1]) or encode(ids, **kwargs)
    again = list(streamer.stream(longer, 5, temperature=0))
    assert read[0] <= 2  # the newest token of the answer may not have been read yet
    model.encode = encode
    assert again == stream(model, longer, 5, temperature=0)
    assert list(streamer.stream([3, 3], 5, temperature=0)) == stream(
        model, [3, 3], 5, temperature=0
    )


def learn(model):
    with torch.no_grad():
        for parameter in model.stack.parameters():
            parameter.mul_(0.5)


def adapt(model):
    for parameter in add_lora(model, 2):
        parameter.data.normal_(generator=torch.Generator().manual_seed(0))


def load(model):
    other = GPT(model.config, init_std=0.3, generator=torch.Generator().manual_seed(9))
    model.load_state_dict(other.state_dict())


def halve(model):
    model.to(torch.bfloat16)


def watch(model):
    model.stack.blocks[0].register_forward_hook(lambda module, inputs, output: -output)


@pytest.mark.parametrize("structure", [gpt_tiny(V), llama_tiny()], ids=["gpt2", "llama"])
@pytest.mark.parametrize("change", [learn, adapt, load, halve, watch])
def test_a_model_that_was_changed_between_two_texts_is_read_anew(change, structure):
    """What was kept of the first text was computed by another model."""
    model = GPT(structure, init_std=0.3, generator=torch.Generator().manual_seed(3)).eval()
    streamer, text = Streamer(model), [1, 2, 3, 4, 5, 6]
    list(streamer.stream(text, 8, temperature=0))
    n_passes = streamer.n_passes
    change(model)
    expected = _log_probs(Streamer(model), text)
    torch.testing.assert_close(_log_probs(streamer, text), expected)
    assert streamer.n_passes == n_passes + 1


def _log_probs(streamer, text):
    """What it chooses the next token from."""
    streamer._look_at_model()
    return streamer._read([*text], [], torch.no_grad)


def test_what_a_draft_does_to_the_text_is_not_what_the_model_goes_on_with(model):
    def spoil(ids):
        ids.clear()
        return [3]

    expected = stream(model, [1, 2, 3], 8, temperature=0)
    assert stream(model, [1, 2, 3], 8, temperature=0, draft=spoil) == expected


@pytest.mark.parametrize(
    ("proposed", "message"),
    [
        (None, "draft returned None; it must return a list of ids"),
        (3, "draft returned 3; it must return a list of ids"),
        ("ab", r"draft\[0\] is 'a'; it must be a whole number"),
        ([1.5], r"draft\[0\] is 1.5; it must be a whole number"),
        ([-1], r"draft\[0\] is -1; it must be at least 0"),
        ([V], f"ids has {V}; the vocabulary has {V} tokens"),
    ],
)
def test_a_draft_that_proposes_no_ids_is_refused(model, proposed, message):
    with pytest.raises(ValueError, match=message):
        stream(model, [1, 2, 3], 8, draft=lambda ids: proposed)


@pytest.mark.parametrize("ids", ["abcabcab", None, torch.tensor([[1, 2, 1, 2]])])
def test_lookup_refuses_what_is_no_list_of_ids(ids):
    with pytest.raises(ValueError, match=r"ids is .*; it must be a list of ids"):
        prompt_lookup(ids)
    with pytest.raises(ValueError, match="longest is 1; it must be at least shortest, 2"):
        prompt_lookup([1, 2, 1, 2], longest=1)


@pytest.mark.parametrize("before", [[], [1, 2, 4, 5, 6, 1]])
def test_an_interrupted_pass_leaves_nothing_behind(model, before):
    streamer = Streamer(model)
    if before:  # a text that the interrupted one has cut off
        list(streamer.stream(before, 5, temperature=0))
    block = model.stack.blocks[1]
    forward = block.forward

    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    block.forward = interrupted  # the first block's cache has grown, the second's has not
    with pytest.raises(KeyboardInterrupt):
        list(streamer.stream([1, 2, 3], 5, temperature=0))
    block.forward = forward
    after = before or [1, 2, 4]
    # Drawn, as the likeliest tokens of this model are nearly always the same.
    expected = stream(model, after, 20, generator=torch.Generator().manual_seed(0))
    again = streamer.stream(after, 20, generator=torch.Generator().manual_seed(0))
    assert list(again) == expected


def test_it_ends_at_a_stop_token_at_the_number_and_at_the_context(model):
    whole = stream(model, [1, 2, 3], 10, temperature=0)
    stop = whole[4]
    ended = stream(model, [1, 2, 3], 10, temperature=0, stop_ids={stop}, draft=prompt_lookup)
    assert ended == whole[: whole.index(stop)]
    assert stream(model, [1, 2, 3], 0) == []
    assert len(stream(model, [1] * 60, 10, draft=lambda ids: [1] * 9)) == 4  # the context is 64


@pytest.mark.parametrize("n", [0, 64])
def test_a_text_that_leaves_no_room_is_refused(model, n):
    with pytest.raises(ValueError, match=f"the text has {n} tokens; it must have 1 to 63"):
        stream(model, [1] * n, 5)


def test_lookup_takes_the_longest_end_and_its_latest_place():
    assert prompt_lookup([1, 2, 9, 1, 2, 8, 1, 2], n_tokens=2) == [8, 1]
    assert prompt_lookup([3, 1, 2, 9, 4, 1, 2, 8, 3, 1, 2]) == [9, 4, 1, 2, 8, 3, 1, 2]
    assert prompt_lookup([1, 2, 3]) == []
    assert prompt_lookup([]) == []

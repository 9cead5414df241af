"""Every knob of generation at its edges means what its docstring says, or is refused by name."""

import math

import jaxtyping
import numpy as np
import pytest
import torch

from course_pkg.decoding.beam_search import TextContinuation, beam_search, sample_texts
from course_pkg.decoding.generation import FixedGenerator, generate
from course_pkg.decoding.samplers import choose, next_token_probs, top_p_mask
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.models.recurrent import RecurrentLM

V, EOS, NAN = 11, 0, float("nan")
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
SCORES = torch.tensor([[0.5, 2.0, 2.0, -1.0]])


@pytest.fixture(autouse=True)
def as_readers_run_it():
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture
def model():
    return GPT(gpt_tiny(V, 16), init_std=0.3, generator=torch.Generator().manual_seed(2)).eval()


def start(model):
    return TextContinuation(model.eval(), IDS[:, :-1])


WRONG = {
    "temperature": [None, -1, NAN, math.inf, "1", [1.0], torch.ones(2)],
    "top_k": [0, -1, 1.5, NAN, "3"],
    "top_p": [0, -0.1, 1.1, NAN, math.inf, "0.9"],
    "min_p": [-0.1, 1.1, NAN, "0.1"],
    "n_tokens": [None, -1, 2.0, NAN],
    "stop_id": [-1, V, 1.5, NAN, [3]],
    "max_length": [None, 0, -1, NAN],
    "n_beams": [None, 0, -1, 1.5],
    "alpha": [None, -1, NAN, math.inf, "1"],
    "eos_id": [-1, V, 1.5],
    "batch_size": [None, 0, -1, NAN],
    "length": [None, 0, 17, NAN],
}


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, vs in WRONG.items() for v in vs])
def test_what_no_knob_can_mean_is_refused_by_name(model, name, value):
    def by_generate(**knobs):
        generate(model, IDS, **{"n_tokens": 2, **knobs})

    def by_fixed(**knobs):
        FixedGenerator(model, 2, 8)(IDS, **knobs)

    def by_sampling(**knobs):
        sample_texts(start(model), IDS[:, -1], **{"eos_id": EOS, "max_length": 2, **knobs})

    def by_beams(**knobs):
        knobs = {"eos_id": EOS, "max_length": 2, "n_beams": 2, **knobs}
        beam_search(start(model), IDS[:, -1], **knobs)

    def built(**knobs):
        FixedGenerator(model, **{"batch_size": 2, "length": 8, **knobs})

    ways = {
        "temperature": (by_generate, by_fixed, by_sampling),
        "top_k": (by_generate, by_fixed, by_sampling),
        "top_p": (by_generate, by_fixed, by_sampling),
        "stop_id": (by_generate, by_fixed),
        "max_length": (by_sampling, by_beams),
        "eos_id": (by_sampling, by_beams),
        "n_beams": (by_beams,),
        "alpha": (by_beams,),
        "batch_size": (built,),
        "length": (built,),
    }
    for way in ways.get(name, (by_generate,)):
        with pytest.raises(ValueError, match=f"^{name} is"):
            way(**{name: value})


def test_top_p_of_one_keeps_every_token_exactly():
    scores = torch.zeros(1, 50_000)
    scores[0, :3] = torch.tensor([20.0, 30.0, 10.0])  # in float32 the first ones alone reach 1
    assert top_p_mask(scores, 1.0).all() and top_p_mask(scores, 1).all()
    assert torch.equal(next_token_probs(scores, top_p=1.0), next_token_probs(scores))


def test_edges_that_mean_something():
    for k in (4, 5, 10**9):  # as many as there are, or more
        assert torch.equal(next_token_probs(SCORES, top_k=k), next_token_probs(SCORES))
    assert torch.equal(next_token_probs(SCORES, min_p=0), next_token_probs(SCORES))
    for only_best in ({"top_k": 1}, {"min_p": 1}, {"temperature": 1e-45}, {"temperature": 1e-300}):
        # Two are the likeliest; 1e-6: float32
        torch.testing.assert_close(
            next_token_probs(SCORES, **only_best), torch.tensor([[0, 0.5, 0.5, 0]]), msg=only_best
        )
    torch.testing.assert_close(next_token_probs(SCORES, temperature=1e30), torch.full((1, 4), 0.25))
    assert choose(SCORES, temperature=0).tolist() == [1]


@pytest.mark.parametrize("make", [np.float32, np.float64, np.array, torch.tensor])
def test_numpy_and_torch_numbers_are_numbers(model, make):
    whole = np.int64 if make is np.float32 else int
    knobs = {"temperature": make(0.5), "top_p": make(0.75), "min_p": make(0.25)}
    plain = {"temperature": 0.5, "top_p": 0.75, "min_p": 0.25}

    def written(knobs, as_int):
        generator = torch.Generator().manual_seed(1)
        arguments = {"top_k": as_int(5), "stop_id": as_int(EOS), "generator": generator}
        return generate(model, IDS, as_int(6), **knobs, **arguments).tolist()

    assert written(knobs, whole) == written(plain, int)
    searches = [
        beam_search(
            start(model), IDS[:, -1], eos_id=i(EOS), max_length=i(3), n_beams=i(2), alpha=f(0.5)
        )
        for i, f in ((whole, make), (int, float))
    ]
    assert searches[0] == searches[1]


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_prompts_of_unequal_length_are_continued_as_each_alone(model, kind):
    model = model if kind == "gpt" else RecurrentLM(V, 8, 8).eval()
    ids = torch.tensor([[3, 1, 4, 7, 7], [9, 2, 6, 5, 3], [1, 7, 7, 7, 7], [7, 2, 7, 7, 7]])
    lengths = torch.tensor([3, 5, 1, 3])
    together = generate(model, ids, 4, temperature=0, lengths=lengths, stop_id=10)
    for row, length in enumerate(lengths.tolist()):
        alone = generate(model, ids[row : row + 1, :length], 4, temperature=0, stop_id=10)[0]
        assert together[row, : len(alone)].tolist() == alone.tolist()
        assert (together[row, len(alone) :] == 10).all()


@pytest.mark.parametrize(
    ("ids", "lengths", "stop_id", "message"),
    [
        ([[0, 0, 3], [5, 2, 3]], None, 0, "row 0 has stop_id, 0, 2 times at its left"),
        ([[3, 0, 0], [5, 2, 3]], None, 0, "row 0 has stop_id, 0, 2 times at its end"),
        ([[0, 0, 3], [5, 2, 3], [0, 2, 1]], [1, 3, 2], None, r"row 0 .* behind it stand \[0, 3\]"),
        ([[5, 2, 3], [3, 0, 0]], [3, 4], None, r"lengths is \[3, 4\]; each must be 1 to 3"),
        ([[5, 2, 3], [3, 0, 0]], [3], None, "one whole number for each of 2 rows"),
    ],
)
def test_padding_is_not_read_as_text(model, ids, lengths, stop_id, message):
    lengths = None if lengths is None else torch.tensor(lengths)
    with pytest.raises(ValueError, match=message):
        generate(model, torch.tensor(ids), 2, stop_id=stop_id, lengths=lengths)


@pytest.mark.parametrize("stop_id", [None, 10])
def test_no_prompts_are_continued_to_no_texts_with_lengths_as_without(model, stop_id):
    none = torch.zeros(0, 3, dtype=torch.int64)
    lengths = torch.zeros(0, dtype=torch.int64)
    expected = generate(model, none, 2, stop_id=stop_id)
    assert generate(model, none, 2, stop_id=stop_id, lengths=lengths).shape == expected.shape


def test_texts_that_begin_or_end_with_the_token_that_stops_are_none_of_that(model):
    for ids in ([[0]], [[0, 0, 3]], [[0, 0], [0, 0]], [[0, 1], [2, 1]], [[0, 0, 1], [0, 0, 2]]):
        assert generate(model, torch.tensor(ids), 1, stop_id=0).shape[1] == len(ids[0]) + 1


def test_searches_refuse_first_ids_of_another_shape(model):
    for first in (IDS, IDS[0, 0], [3, 4], IDS[:0, 0]):
        with pytest.raises(ValueError, match="first_ids is"):
            beam_search(start(model), first, eos_id=0, max_length=2, n_beams=2)


def test_fixed_generator_wants_a_gpt():
    with pytest.raises(ValueError, match="model is RecurrentLM; it must be a GPT"):
        FixedGenerator(RecurrentLM(V, 8, 8), 1, 4)

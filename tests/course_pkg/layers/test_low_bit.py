"""Products with weights of few bits: as with the same weights dequantised, kernel or no kernel."""

import subprocess
import sys

import jaxtyping
import numpy as np
import pytest
import torch

from course_pkg.layers import low_bit
from course_pkg.layers.low_bit import (
    BYTES_PER_BLOCK,
    BlockLinear,
    RowEmbedding,
    RowLinear,
    dequantise,
    joined,
    quantise_rows,
)

# Inputs and scales have the eight binary digits of bfloat16.
RELATIVE = 0.01


def random_blocks(kind, n_rows, width, rng):
    """Rows of blocks with scales of a trained model's size."""
    blocks = torch.randint(
        256, (n_rows, width // 32, BYTES_PER_BLOCK[kind]), generator=rng, dtype=torch.uint8
    )
    n_floats = 2 if kind == "Q4_1" else 1
    floats = (0.02 * torch.randn(n_rows, width // 32, n_floats, generator=rng)).half()
    blocks[..., : 2 * n_floats] = floats.view(torch.uint8)
    return blocks.flatten(1)


def relative_error(found, expected):
    return float((found.float() - expected).norm() / expected.norm())


@pytest.mark.parametrize("kind", BYTES_PER_BLOCK)
def test_blocks_stand_for_the_weights_that_gguf_reads(rng, kind):
    gguf = pytest.importorskip("gguf", reason="reads GGUF files: pip install gguf==0.19.0")
    blocks = random_blocks(kind, 5, 96, rng)
    expected = gguf.dequantize(blocks.numpy(), gguf.GGMLQuantizationType[kind])
    np.testing.assert_array_equal(dequantise(blocks, kind).numpy(), expected)


def test_a_block_by_hand():
    """Q4_1: weights are scale * code + minimum; code 16 stands in the high half of the first."""
    block = torch.zeros(1, 20, dtype=torch.uint8)
    block[0, :4] = torch.tensor([0.5, -1.0], dtype=torch.float16).view(torch.uint8)
    block[0, 4] = 0x3F
    weights = dequantise(block, "Q4_1")[0]
    assert weights[0] == 0.5 * 15 - 1
    assert weights[16] == 0.5 * 3 - 1
    assert weights[1] == -1


@pytest.fixture
def without_jaxtyping():
    """As where the package is used: types are checked in the tests alone."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(params=["kernels", "plain"])
def kernels(request, monkeypatch):
    """Once with torch's kernels, once as where they are missing."""
    if request.param == "plain":
        monkeypatch.setattr(low_bit, "_KERNELS", {})


@pytest.mark.parametrize("n_vectors", [1, 3, 40])
@pytest.mark.parametrize("n_rows", [48, 7])
@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1"])
def test_a_layer_of_blocks_multiplies_as_its_weights_do(rng, kernels, kind, n_rows, n_vectors):
    blocks = random_blocks(kind, n_rows, 64, rng)
    x = torch.randn(2, n_vectors, 64, generator=rng)
    expected = x @ dequantise(blocks, kind).T
    layer = BlockLinear(blocks, kind)
    assert relative_error(layer(x), expected) < RELATIVE
    found = layer(x.bfloat16())
    assert found.dtype == torch.bfloat16
    assert relative_error(found, expected) < RELATIVE


@pytest.mark.parametrize("n_vectors", [1, 3, 40])
def test_a_layer_of_rows_multiplies_as_its_weights_do(rng, kernels, n_vectors):
    codes, scale = quantise_rows(torch.randn(7, 64, generator=rng))
    x = torch.randn(2, n_vectors, 64, generator=rng).bfloat16()
    expected = x.float() @ (codes * scale[:, None]).T
    assert relative_error(RowLinear(codes, scale)(x), expected) < RELATIVE


@pytest.mark.parametrize("sizes", [(128, 64, 64), (48, 64), (64,)])
@pytest.mark.parametrize("kind", ["Q4_1", "rows"])
def test_joined_layers_multiply_as_each_multiplies(rng, kernels, kind, sizes):
    """Also where a part is not packed as a part of a larger matrix would be."""
    if kind == "rows":
        layers = [RowLinear(*quantise_rows(torch.randn(n, 64, generator=rng))) for n in sizes]
    else:
        layers = [BlockLinear(random_blocks(kind, n, 64, rng), kind) for n in sizes]
    x = torch.randn(1, 64, generator=rng).bfloat16()
    expected = [layer(x) for layer in layers]
    assert relative_error(joined(layers)(x), torch.cat(expected, dim=-1).float()) < RELATIVE
    for layer, output in zip(layers, expected, strict=True):
        assert torch.equal(layer(x), output)


def test_joined_layers_take_no_memory_twice(rng):
    layers = [RowLinear(*quantise_rows(torch.randn(64, 64, generator=rng))) for _ in range(2)]
    joined(layers)
    first, second = (layer.codes.untyped_storage().data_ptr() for layer in layers)
    assert first == second


def test_rounding_to_rows_keeps_each_weight_within_half_a_step(rng):
    weight = torch.randn(7, 64, generator=rng)
    weight[3] = 0
    codes, scale = quantise_rows(weight)
    assert ((codes * scale[:, None] - weight).abs() <= scale[:, None] / 2 + 1e-7).all()


def test_a_table_of_rows_looks_up_and_compares(rng):
    codes, scale = quantise_rows(torch.randn(11, 64, generator=rng))
    table = RowEmbedding(codes, scale)
    ids = torch.tensor([[3, 10]])
    assert relative_error(table(ids), (codes * scale[:, None])[ids]) < RELATIVE
    assert table.compare(table(ids)).argmax(-1).tolist() == ids.tolist()
    with pytest.raises(ValueError, match="ids has 11; the vocabulary has 11 tokens, 0 to 10"):
        table(torch.tensor([[11]]))


def test_what_a_kernel_would_cut_or_name_by_letters_is_refused(rng, kernels, without_jaxtyping):
    layers = [
        BlockLinear(random_blocks("Q4_1", 48, 64, rng), "Q4_1"),
        RowLinear(*quantise_rows(torch.randn(48, 64, generator=rng))),
    ]
    for layer in layers:
        for x in (torch.randn(2, 65), torch.randn(20, 32), torch.arange(64)[None]):
            with pytest.raises(ValueError, match=r"x is .*; it must be vectors of 64 fractions"):
                layer(x)
        assert layer(torch.empty(0, 64)).shape == (0, 48)


def test_codes_and_scales_that_do_not_fit_are_refused(rng, without_jaxtyping):
    codes, scale = quantise_rows(torch.randn(4, 8, generator=rng))
    for wrong in (
        (codes, scale[:1]),
        (codes, scale[:3]),
        (codes.float(), scale),
        (codes[0], scale),
    ):
        with pytest.raises(ValueError, match="they must be int8 in rows, and one number a row"):
            RowLinear(*wrong)
    for weight in (torch.ones(2, 4).int(), torch.ones(4)):
        with pytest.raises(ValueError, match="it must be fractions in rows"):
            quantise_rows(weight)
    for number in (torch.nan, torch.inf):
        with pytest.raises(ValueError, match="weight has a nan or is infinite"):
            quantise_rows(torch.tensor([[1.0, number]]))


def test_other_blocks_are_refused(without_jaxtyping):
    blocks = torch.zeros(2, 40, dtype=torch.uint8)
    with pytest.raises(ValueError, match="kind is 'Q5_0'; it must be one of Q4_0, Q4_1, Q8_0"):
        dequantise(blocks, "Q5_0")
    for wrong in (blocks.float(), blocks.long(), blocks[:, :39]):
        with pytest.raises(ValueError, match="it must be uint8, rows of whole blocks of Q4_1"):
            dequantise(wrong, "Q4_1")
    with pytest.raises(ValueError, match=r"blocks has shape \(40,\); it must be rows of blocks"):
        BlockLinear(blocks[0], "Q4_1")
    with pytest.raises(ValueError, match="kind is 'Q8_0'; it must be Q4_0 or Q4_1"):
        BlockLinear(torch.zeros(1, 34, dtype=torch.uint8), "Q8_0")


@pytest.mark.exhaustive
@pytest.mark.parametrize("processor", ["avx2", "default"])
def test_values_on_older_processors(processor):
    """torch chooses its kernels when it starts; what this file says of them holds for each."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", __file__, "-k", "multipl"]
    run = subprocess.run(
        command,
        env={"PATH": "", "OMP_NUM_THREADS": "1", "ATEN_CPU_CAPABILITY": processor},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout

"""Tiny models of LLaMA's structure as GGUF files, made by `gguf` from a model of `transformers`."""

from pathlib import Path

import numpy as np
import torch
from transformers.models.llama import LlamaConfig, LlamaForCausalLM

from course_pkg.text.tokenizers.byte_pair import to_printable

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MERGES = ((b"t", b"h"), (b"th", b"e"), (b" ", b"a"), (b"1", b"2"), (b" ", b" "))
MISSING = b"\x04"
TOKENS = [
    *SPECIAL,
    *(to_printable(bytes([b])) for b in range(256) if bytes([b]) != MISSING),
    *(to_printable(a + b) for a, b in MERGES),
]
V, D, H, G, FF, L, CONTEXT = len(TOKENS), 64, 4, 2, 96, 2, 128
TEMPLATE = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nBe brief.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def oracle(*, is_tied: bool = True) -> LlamaForCausalLM:
    """A model of `transformers` with weights large enough for every part to matter."""
    config = LlamaConfig(
        vocab_size=V,
        hidden_size=D,
        intermediate_size=FF,
        num_hidden_layers=L,
        num_attention_heads=H,
        num_key_value_heads=G,
        max_position_embeddings=CONTEXT,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 5000.0},
        tie_word_embeddings=is_tied,
        bos_token_id=1,
        eos_token_id=2,
    )
    model = LlamaForCausalLM(config).eval()
    generator = torch.Generator().manual_seed(7)
    for parameter in model.parameters():
        parameter.data.normal_(std=0.2, generator=generator)
    return model


def write(
    path: Path,
    model: LlamaForCausalLM,
    *,
    kind: str = "F32",
    table: str | None = None,
    changes: dict | None = None,
    more: dict | None = None,
    without: str | None = None,
) -> Path:
    """Write a model as llama.cpp's converter does, and round the oracle to what the file holds.

    Args:
        kind: of the matrices; `table` of the table of tokens, the same by default.
        changes: fields to be added or replaced, by name.
        more: further arrays.
        without: an array that is left out.
    """
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    fields = {
        "llama.context_length": CONTEXT,
        "llama.embedding_length": D,
        "llama.block_count": L,
        "llama.feed_forward_length": FF,
        "llama.attention.head_count": H,
        "llama.attention.head_count_kv": G,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.freq_base": 5000.0,
        "llama.rope.dimension_count": D // H,
        "general.name": "Tiny",
        "general.license": "cc0",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": TOKENS,
        "tokenizer.ggml.token_type": [3 if t in SPECIAL else 1 for t in TOKENS],
        "tokenizer.ggml.merges": [f"{to_printable(a)} {to_printable(b)}" for a, b in MERGES],
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.chat_template": TEMPLATE,
    }
    add = {int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
    add[bool] = writer.add_bool
    for name, value in (fields | (changes or {})).items():
        if value is not None:
            add.get(type(value), writer.add_array)(name, value)
    for name, parameter in model.state_dict().items():
        theirs, heads = _name(name)
        if theirs in (None, without) or (theirs == "output.weight" and _is_tied(model)):
            continue
        array = parameter.numpy()
        if array.ndim == 1:
            writer.add_tensor(theirs, array)
            continue
        form = gguf.GGMLQuantizationType[(table or kind) if "embd" in theirs else kind]
        stored = gguf.quantize(array if heads is None else _neighbours(array, heads), form)
        read = gguf.dequantize(stored, form)
        parameter.copy_(torch.from_numpy(read if heads is None else _halves(read, heads)))
        writer.add_tensor(theirs, stored, raw_dtype=form)
    for name, array in (more or {}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _is_tied(model: LlamaForCausalLM) -> bool:
    return model.config.tie_word_embeddings


def _name(name: str) -> tuple[str | None, int | None]:
    """llama.cpp's name for an array, and the heads whose rows it reorders."""
    whole = {
        "model.embed_tokens.weight": "token_embd.weight",
        "model.norm.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
    if name in whole:
        return whole[name], None
    parts = {
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
    }
    _, _, layer, *rest = name.removesuffix(".weight").split(".")
    part = parts[".".join(rest)]
    return f"blk.{layer}.{part}.weight", {"attn_q": H, "attn_k": G}.get(part)


def _neighbours(rows: np.ndarray, heads: int) -> np.ndarray:
    """As `permute` in llama.cpp's convert_hf_to_gguf.py: pairs of a head side by side."""
    split = rows.reshape(heads, 2, rows.shape[0] // heads // 2, *rows.shape[1:])
    return np.ascontiguousarray(split.swapaxes(1, 2).reshape(rows.shape))


def _halves(rows: np.ndarray, heads: int) -> np.ndarray:
    split = rows.reshape(heads, rows.shape[0] // heads // 2, 2, *rows.shape[1:])
    return np.ascontiguousarray(split.swapaxes(1, 2).reshape(rows.shape))

"""GGUF files of random weights in the shape of a Qwen2, to time llama.cpp."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

FORMATS = {"q4_0": 2, "q8_0": 7}
"""The formats by name, with llama.cpp's numbers for them."""


def write(folder: Path, config: dict[str, Any], quantised: str) -> Path:
    """Return a file with these sizes, writing it if it does not exist.

    Args:
        folder: Where such files are kept.
        config: Sizes, as a `config.json` has them.
        quantised: One of `FORMATS`.
    """
    import llama_cpp  # pyright: ignore
    from llama_cpp._logger import set_verbose  # pyright: ignore

    set_verbose(False)  # it prints a line about each array
    name = f"{config['hidden_size']}x{config['num_hidden_layers']}"
    path = folder / f"{name}-{quantised}.gguf"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    dense, unfinished = folder / f"{name}-f16.gguf", path.with_suffix(".part")
    try:
        _write_dense(dense, config)
        parameters: Any = llama_cpp.llama_model_quantize_default_params()
        parameters.ftype = FORMATS[quantised]
        quantise: Any = llama_cpp.llama_model_quantize
        failed = quantise(
            str(dense).encode(), str(unfinished).encode(), ctypes.byref(parameters)
        )
        if failed:
            raise RuntimeError(f"{path}: llama.cpp cannot quantise to {quantised}")
        unfinished.rename(path)
    finally:
        dense.unlink(missing_ok=True)
        unfinished.unlink(missing_ok=True)
    return path


def _write_dense(path: Path, config: dict[str, Any]) -> None:
    """Write random weights in float16."""
    import gguf  # pyright: ignore

    out: Any = gguf.GGUFWriter(str(path), "qwen2")
    _describe(out, config)
    rng = np.random.default_rng(0)
    for name, shape in _shapes(config).items():
        if len(shape) == 2:
            values = rng.standard_normal(shape, dtype=np.float32) * 0.02
            out.add_tensor(name, values.astype(np.float16))
        else:
            constant = 0.0 if name.endswith("bias") else 1.0
            out.add_tensor(name, np.full(shape, constant, np.float32))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


def _describe(out: Any, config: dict[str, Any]) -> None:  # noqa: ANN401 - untyped
    """Write the sizes, and a vocabulary, which has to exist but is not used."""
    vocab_size = config["vocab_size"]
    out.add_context_length(config["max_position_embeddings"])
    out.add_embedding_length(config["hidden_size"])
    out.add_block_count(config["num_hidden_layers"])
    out.add_feed_forward_length(config["intermediate_size"])
    out.add_head_count(config["num_attention_heads"])
    out.add_head_count_kv(config["num_key_value_heads"])
    out.add_layer_norm_rms_eps(config["rms_norm_eps"])
    out.add_rope_freq_base(config["rope_theta"])
    out.add_file_type(1)
    out.add_vocab_size(vocab_size)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("qwen2")
    out.add_token_list([f"t{number}" for number in range(vocab_size)])
    out.add_token_types([1] * vocab_size)
    out.add_token_merges(["t 1"])
    out.add_eos_token_id(vocab_size - 1)
    out.add_bos_token_id(vocab_size - 2)


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shape of every array, by its name in a GGUF file."""
    hidden, width = config["hidden_size"], config["intermediate_size"]
    kv_width = hidden // config["num_attention_heads"] * config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (config["vocab_size"], hidden),
        "output_norm.weight": (hidden,),
    }
    for layer in range(config["num_hidden_layers"]):
        own = {
            "attn_norm.weight": (hidden,),
            "ffn_norm.weight": (hidden,),
            "attn_q.weight": (hidden, hidden),
            "attn_k.weight": (kv_width, hidden),
            "attn_v.weight": (kv_width, hidden),
            "attn_q.bias": (hidden,),
            "attn_k.bias": (kv_width,),
            "attn_v.bias": (kv_width,),
            "attn_output.weight": (hidden, hidden),
            "ffn_gate.weight": (width, hidden),
            "ffn_up.weight": (width, hidden),
            "ffn_down.weight": (hidden, width),
        }
        shapes |= {f"blk.{layer}.{name}": shape for name, shape in own.items()}
    return shapes

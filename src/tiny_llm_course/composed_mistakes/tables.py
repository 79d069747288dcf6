"""What is easily taken for what."""

import ast

OTHER_FUNCTIONS = {
    "mean": ("sum", "max"),
    "sum": ("mean", "max"),
    "max": ("min", "mean"),
    "min": ("max",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "argmax": ("argmin",),
    "rsqrt": ("sqrt", "square", "reciprocal"),
    "sqrt": ("square",),
    "sigmoid": ("tanh",),
    "silu": ("mx.sigmoid", "mx.tanh"),
    "softmax": ("mx.sigmoid",),
    "cos": ("sin",),
    "sin": ("cos",),
    "erf": ("tanh",),
    "tanh": ("erf", "sigmoid"),
    "exp": ("log", "square"),
    "round": ("floor", "ceil"),
    "stack": ("concatenate",),
    "repeat": ("tile",),
    "arange": ("ones",),
    "logsumexp": ("max",),
}
"""What is taken for what. Without a module it is another of the same."""

DONE_TWICE = {
    *("softmax", "silu", "rope", "rsqrt", "sigmoid", "embedding", "log"),
    *("norm", "input_layernorm", "post_attention_layernorm"),
}

ADDED = {"bias", "bq", "bk", "bv"}
"""What is handed to a function that adds it, and easily added once more."""

OTHER_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub, ast.Mult),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Mod, ast.Mult, ast.Div),
    ast.Mod: (ast.FloorDiv,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
}

OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
}

FAMILIES = (
    ("query", "key", "value"),
    ("wq", "wk", "wv", "wo"),
    ("bq", "bk", "bv"),
    ("q_proj", "k_proj", "v_proj", "o_proj"),
    ("w_gate", "w_up", "w_down"),
    ("gate_proj", "up_proj", "down_proj"),
    ("gate", "up"),
    ("cos", "sin"),
    ("keys", "values"),
    ("_keys", "_values"),
    ("scales", "biases"),
    ("scale", "bias"),
    ("weight", "bias"),
    ("a", "b"),
    ("x", "h"),
    ("L", "S"),
    ("low", "high"),
    ("dim", "hidden_dim"),
    ("group_size", "bits"),
    ("flops", "num_bytes"),
    ("flops_per_s", "bytes_per_s"),
    ("compute_s", "memory_s"),
    ("start", "stop"),
    ("hidden_size", "intermediate_size"),
    ("num_heads", "num_kv_heads"),
    ("num_attention_heads", "num_key_value_heads", "num_kv_heads"),
    ("input_layernorm", "post_attention_layernorm"),
    ("w_input_layernorm", "w_post_attention_layernorm"),
    ("attention", "mlp"),
    ("norm1", "norm2"),
)
"""Names of one kind, of which one is easily taken for another."""

AXES = (-1, -2, 0, 1)

OTHER_AXES = {"-1": (-2, -3, 0), "-2": (-1, -3, 0), "-3": (-2, -1, 0)}
"""What an axis that is counted from the end is taken for."""

UNITS = (8, 1 / 8, 1000, 1 / 1000, 1e9, 1e-9)
"""Bits and bytes, milliseconds, billions: by what a unit is off."""

TOGETHER = (
    (("attention", "mlp"), ("input_layernorm", "post_attention_layernorm")),
    (("attention", "mlp"), ("norm1", "norm2")),
    (("weight", "bias"), ("scale", "shift")),
)
"""Pairs of names that change places together, as two steps do with what they need."""

USUAL_VALUES: dict[str, tuple[float | str | None, ...]] = {
    "axis": (-1, 0),
    "base": (10000, 1000000),
    "bits": (4, 8),
    "eps": (1e-5, 1e-6),
    "group_size": (64, 32),
    "mask": (None, "causal"),
    "momentum": (0.1, 0.9),
    "num_groups": (1,),
    "offset": (0,),
    "scale": (1.0,),
    "theta": (10000, 1000000),
    "traditional": (False, True),
    "training": (False, True),
}
"""What somebody writes down who does not look at an argument."""

SMALL = (1e-5, 1e-6, 1e-8)
"""What is added against a division by 0."""

SPREAD = {"mask", "bias", "weight", "cos", "sin", "bq", "bk", "bv"}
"""Arrays that meet larger ones entry by entry, and may get an axis for that."""

OF_QWEN2 = {
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "rms_norm_eps": 1e-6,
    "vocab_size": 151936,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000,
}
"""What `config.json` of Qwen2-0.5B says, which people copy from there."""

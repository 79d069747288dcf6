"""What the course and mlx_lm import of `transformers`, for pyright.

In the package itself it would find, and read, the files of every model.
"""

from transformers.cache_utils import DynamicCache as DynamicCache
from transformers.models.auto.tokenization_auto import AutoTokenizer as AutoTokenizer
from transformers.models.qwen2.configuration_qwen2 import Qwen2Config as Qwen2Config
from transformers.models.qwen2.modeling_qwen2 import (
    Qwen2ForCausalLM as Qwen2ForCausalLM,
)
from transformers.tokenization_utils_base import (
    PreTrainedTokenizerBase as PreTrainedTokenizerBase,
)

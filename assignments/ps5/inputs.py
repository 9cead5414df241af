"""What several items of problem set 5 share.

Sizes are small, odd and different, so that a wrong axis cannot pass by luck. Hard cases stand in
parts of their own.
"""

from collections.abc import Sequence

NORMS = ("layer_norm", "native_layer_norm", "rms_norm", "group_norm", "batch_norm")
NORMS += ("instance_norm", "native_group_norm", "local_response_norm", "normalize")
"""What the tasks on norms ask to write out, by torch's names."""

ATTENTION = ("scaled_dot_product_attention", "multi_head_attention_forward")


def shape_text(shape: Sequence[int]) -> str:
    """Write a shape as labels have it."""
    return str(tuple(shape))

"""Convolutions that keep away from a kernel of oneDNN which writes past its buffer.

https://github.com/uxlfoundation/oneDNN/issues/6035, open for the versions that torch brings: on
processors with AVX2 or AVX-512, with channels-last tensors, the gradient of the weights of a 1x1
convolution that skips pixels and has fewer input channels than the kernel's block is written past
its workspace.  That ends in a crash, in a loop without end, or silently in wrong gradients.
`tests/networks/test_safe_convolutions.py` looks for it, and for others of its kind.
"""

from __future__ import annotations

import torch
from torch import nn

BLOCK = 16  # channels that the kernel takes at once: 8 with AVX2, 16 with AVX-512


def convolve(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: tuple[int, ...] = (1, 1),
    padding: tuple[int, ...] | str = (0, 0),
    dilation: tuple[int, ...] = (1, 1),
    groups: int = 1,
) -> torch.Tensor:
    """Return what ``torch.nn.functional.conv2d`` does, without the kernel of this module's issue.

    A 1x1 convolution of stride s equals one of stride 1 on every s-th pixel.  Both sum the same
    products, possibly in another order, so the results agree up to the last bits.  If the kernel
    cannot run (on a GPU, or from 16 channels on), the result is torch's to the bit.

    Examples
    --------
    >>> x, weight = torch.arange(16.0).view(1, 1, 4, 4), torch.full((1, 1, 1, 1), 2.0)
    >>> convolve(x, weight, stride=(2, 2))[0, 0]
    tensor([[ 0.,  4.],
            [16., 20.]])
    """
    if x.is_cpu and meets_the_kernel(weight.shape, stride, padding):
        x = x[..., :: stride[0], :: stride[1]]
        stride = (1, 1)
    return nn.functional.conv2d(x, weight, bias, stride, padding, dilation, groups)


def meets_the_kernel(
    shape: tuple[int, ...], stride: tuple[int, ...], padding: tuple[int, ...] | str
) -> bool:
    """Whether a convolution with weights of a shape [D, C, h, w] may run that kernel.

    Examples
    --------
    >>> meets_the_kernel((8, 4, 1, 1), (2, 2), (0, 0))
    True
    >>> meets_the_kernel((8, 4, 3, 3), (2, 2), (1, 1))
    False
    """
    narrow = shape[1] < BLOCK and tuple(shape[2:]) == (1, 1)
    return narrow and max(stride) > 1 and padding in ((0, 0), "valid")


class Conv2d(nn.Conv2d):
    """torch's layer of that name, by `convolve`.

    The class keeps torch's name for code that looks for convolutions by the names of classes.
    """

    def _conv_forward(
        self, input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None
    ) -> torch.Tensor:
        return convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)


def protect(network: nn.Module) -> None:
    """Have the layers of a network that may meet the kernel convolve by `convolve`, in place.

    Weights, their names and hooks stay as they are.
    """
    for layer in network.modules():
        # a subclass has its own forward pass; without padding, its mode does not matter
        if type(layer) is nn.Conv2d and meets_the_kernel(
            layer.weight.shape, layer.stride, layer.padding
        ):
            layer.__class__ = Conv2d

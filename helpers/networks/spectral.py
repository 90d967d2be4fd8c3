"""Spectral normalisation: layers whose operator norm is a coefficient, or at most that."""

from __future__ import annotations

import torch
from torch import nn
from torch.func import functional_call
from torch.nn.grad import conv2d_input

from helpers.checks import known_name
from helpers.networks.recipe import SPECTRAL_FORMS
from helpers.networks.safe_convolutions import convolve

_LEAST = 1e-12  # of a norm that is divided by: weights of zero stay zero
_FIRST = 20  # iterations with which the search for the most stretched input begins
Layer = nn.Conv2d | nn.Linear | nn.BatchNorm2d  #: what `SpectralNorm` can be put around


class SpectralNorm(nn.Module):
    r"""A layer whose weight is divided by its operator norm, and multiplied by a coefficient.

    .. math:: W' = c\, W / \sigma(W), \quad \text{or with a bound} \quad
        W' = W / \max(1, \sigma(W) / c)

    For a convolution :math:`\sigma` is the norm of the linear map from the input image to the
    output image, padding and stride included, not the norm of the reshaped weight.  A batch
    normalisation has :math:`\sigma = \max_k |\gamma_k| / \sqrt{v_k + \varepsilon}`, with the
    running variance :math:`v`, by which it divides after training.

    Notes
    -----
    Miyato et al. 2018, algorithm 1, by the convolution itself as in Gouk et al. 2021, section
    4.1, which also defines the bound.  Each training step takes one power iteration.  A buffer
    stores the best estimate of the input that the layer stretches most, at the resolution of the
    first image.  The estimated norm is never above the true norm.  In evaluation the buffer does
    not change, so the output for an image does not depend on earlier images.
    """

    direction: torch.Tensor

    def __init__(self, layer: Layer, coefficient: float, *, bound: bool):
        super().__init__()
        if not coefficient > 0:
            raise ValueError(f"coefficient: a positive number expected, got {coefficient}")
        self.layer = layer
        self.coefficient = coefficient
        self.least = 1 if bound else _LEAST
        if not isinstance(layer, nn.BatchNorm2d):
            self.register_buffer("direction", torch.empty(0))
            self.register_load_state_dict_pre_hook(shaped_by("direction"))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the output of the layer with its divided weight."""
        with torch.autocast(x.device.type, enabled=False):  # a norm wants more than eight bits
            weight = self.layer.weight / self.divisor(x.shape)
        return functional_call(self.layer, {"weight": weight}, (x,))

    def divisor(self, shape: torch.Size) -> torch.Tensor:
        """Return the divisor of the weight, a scalar; for `shape` and the mode see `norm`."""
        return (self.norm(shape) / self.coefficient).clamp(min=self.least)

    def norm(self, shape: torch.Size) -> torch.Tensor:
        """Return the layer's operator norm, a scalar, for inputs of a shape [B, C, ...].

        A call in training mode improves the estimate for the next call.
        """
        layer = self.layer
        if isinstance(layer, nn.BatchNorm2d):
            if layer.running_var is None:
                raise ValueError("layer: a batch normalisation with running statistics expected")
            return (layer.weight.abs() / (layer.running_var + layer.eps).sqrt()).amax()
        if not self.direction.numel():
            # not an inference tensor, which no later training step could change
            with torch.inference_mode(False), torch.no_grad():
                self._begin(shape)
        direction = self.direction.clone()  # kept for the gradient, while the buffer changes
        stretched = self._apply_weight(direction)
        if self.training:
            with torch.no_grad():
                self._improve(stretched)
        return torch.linalg.vector_norm(stretched)

    def _begin(self, shape: torch.Size) -> None:
        """Start from noise, the same for all layers of a shape."""
        channels = self._kernel().shape[1] * getattr(self.layer, "groups", 1)
        size = shape[2:] if isinstance(self.layer, nn.Conv2d) else (1, 1)
        noise = torch.randn((1, channels, *size), generator=torch.Generator().manual_seed(0))
        length = torch.linalg.vector_norm(noise, dim=(1, 2, 3), keepdim=True)
        self.direction = (noise / length).to(self.layer.weight.device)
        for _ in range(_FIRST):
            self._improve(self._apply_weight(self.direction))

    def _improve(self, stretched: torch.Tensor) -> None:
        """Do one power iteration: through the transposed map, and back to length 1."""
        mapped = conv2d_input(self.direction.shape, self._kernel(), stretched, **self._geometry())
        length = torch.linalg.vector_norm(mapped)
        # a layer of zeros maps each direction to 0, from which no later iteration could recover
        self.direction.copy_(torch.where(length > 0, mapped / length, self.direction))

    def _apply_weight(self, x: torch.Tensor) -> torch.Tensor:
        return convolve(x, self._kernel(), **self._geometry())

    def _kernel(self) -> torch.Tensor:
        """Return the weight as a convolution's; a linear layer is one of a single pixel."""
        weight = self.layer.weight
        return weight if weight.ndim == 4 else weight[:, :, None, None]

    def _geometry(self) -> dict:
        names = ("stride", "padding", "dilation", "groups")
        return {name: getattr(self.layer, name) for name in names if hasattr(self.layer, name)}


def normalise(
    network: nn.Module, coefficient: float, form: str = "weights", *, keep: nn.Module | None = None
) -> None:
    """Put `SpectralNorm` around the layers of a network, in place.

    Examples
    --------
    >>> network = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU())
    >>> network[0].weight.data = torch.tensor([[3.0, 0.0], [0.0, 1.0]])
    >>> normalise(network, 1.5)
    >>> network(torch.tensor([[1.0, 1.0]])).detach()  # as if it were 1.5 and 0.5
    tensor([[1.5000, 0.5000]])
    """
    known_name("form", form, SPECTRAL_FORMS)
    kinds = nn.Conv2d | nn.Linear if form == "weights" else Layer
    excluded = set() if keep is None else set(keep.modules())
    for name, layer in list(network.named_modules()):
        if isinstance(layer, kinds) and layer not in excluded:
            bound = form == "bounded" or isinstance(layer, nn.BatchNorm2d)
            network.set_submodule(name, SpectralNorm(layer, coefficient, bound=bound))


def shaped_by(name: str):
    """Return a hook by which a buffer takes its shape from the weights that are loaded.

    For a buffer with the size of the images, which is unknown when a network is made.
    """

    def take_shape(module: nn.Module, state: dict, prefix: str, *_) -> None:
        if (value := state.get(prefix + name)) is not None:
            setattr(module, name, torch.empty_like(value, device=getattr(module, name).device))

    return take_shape

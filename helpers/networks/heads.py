"""Parts that an algorithm adds to a backbone: other heads, and a native measure."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from scipy.special import betaincinv
from torch import nn

from helpers.checks import positive_number
from helpers.networks.spectral import shaped_by

#: A network with timm's methods: forward_features, forward_head and get_classifier.  timm declares
#: no class or protocol for such modules.
Backbone = Any
#: Parameter of Mixup's Beta distribution, by default.
ALPHA = 0.3
#: The soft labeler's probability of the correct class.
POSITIVE = 0.8
#: Number of subnetworks of MIMO.
SUBNETWORKS = 2
#: Width and depth of the perceptrons of random network distillation and orthogonal certificates.
WIDTH = 128
DEPTH = 3


def whole(name: str, value: float) -> int:
    """Return a whole number of at least 1; raise an error that names the argument otherwise."""
    if not value >= 1 or value % 1:
        raise ValueError(f"{name}: a whole number, at least 1, expected, got {value}")
    return int(value)


def beta_quantiles(alpha: float, count: int) -> np.ndarray:
    """Return `count` equally likely values of the Beta distribution of two parameters `alpha`.

    Quantiles in the middles of equal parts, float32 [count], symmetric about one half.

    Examples
    --------
    >>> beta_quantiles(1.0, 2)  # of the uniform distribution
    array([0.25, 0.75], dtype=float32)
    """
    positive_number("alpha", alpha)
    middles = (np.arange(count) + 0.5) / count
    return np.asarray(betaincinv(alpha, alpha, middles), np.float32)


class RBFHead(nn.Module):
    r"""Logits that are largest where a linear function is zero: :math:`\exp(-a^2)`, of (0, 1]."""

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.linear = linear

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logits, [B, K]."""
        return (-self.linear(features).square()).exp()


class ClassMaps(nn.Module):
    """The end of a SqueezeNet: the mean of one map a class after its ReLU.

    The means of the maps, the features, do not determine the logits.
    """

    def __init__(self, channels: int, num_classes: int):
        super().__init__()
        self.channels = channels
        self.conv = nn.Conv2d(channels, num_classes, 1, padding=1)

    def forward(self, maps: torch.Tensor) -> torch.Tensor:
        """Return the logits, [B, K], of maps [B, D, H, W]."""
        return self.conv(maps).relu().mean((2, 3))


class Pooled(nn.Module):
    """A network of maps, their means, and a last layer; subclasses make the maps and the layer.

    It has the methods of timm's networks that `helpers.networks.backbones.Classifier` calls.
    """

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Return the maps of features."""
        raise NotImplementedError

    def get_classifier(self) -> nn.Module:
        """Return the last layer."""
        raise NotImplementedError

    def forward_head(self, x: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        """Return the means of the maps, or the logits."""
        means = x.mean((2, 3))
        if pre_logits:
            return means
        head = self.get_classifier()
        return head(x if isinstance(head, ClassMaps) else means)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits."""
        return self.forward_head(self.forward_features(x))


class MultiInput(nn.Conv2d):
    """A first convolution that sees M images at once, one after another in its channels.

    A single image is shown M times.
    """

    def __init__(self, stem: nn.Conv2d, images: int):
        height, width = stem.kernel_size
        bias = stem.bias is not None
        channels = images * stem.in_channels
        super().__init__(channels, stem.out_channels, (height, width), bias=bias)
        self.stride = stem.stride
        self.padding = stem.padding
        nn.init.kaiming_normal_(self.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the convolution of [B, 3 M, H, W], or of [B, 3, H, W] repeated M times."""
        if x.shape[1] < self.in_channels:
            x = x.repeat(1, self.in_channels // x.shape[1], 1, 1)
        return super().forward(x)


class MultiHead(nn.Module):
    """M linear heads on the same features, each with separate logits."""

    def __init__(self, linear: nn.Linear, heads: int):
        super().__init__()
        self.heads = heads
        self.linear = nn.Linear(linear.in_features, heads * linear.out_features)

    def members(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logits of each head, [B, M, K]."""
        return self.linear(features).unflatten(1, (self.heads, -1))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the mean of the heads' probabilities, [B, K]."""
        log_probabilities = self.members(features).log_softmax(dim=2)
        return log_probabilities.logsumexp(dim=1) - math.log(self.heads)


class Native(nn.Module):
    """A training algorithm's own measure, with the weights that it needs.

    Its parameters are trained with the network's, whose part it is.
    """

    def learn(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Store statistics of the training images, uint8 [N, H, W, 3], and labels; here nothing."""

    def forward(
        self,
        classifier: nn.Module,
        images: torch.Tensor,
        features: torch.Tensor,
        logits: torch.Tensor,
    ) -> torch.Tensor:
        """Return the measure [B], higher = more likely known."""
        raise NotImplementedError


class MixingGap(Native):
    r"""How far the outputs are from linear between an image and the mean image (Mixup).

    .. math:: s = -\operatorname{E}_\lambda \lVert f(\lambda x + (1 - \lambda) \bar x)
              - (\lambda f(x) + (1 - \lambda) \bar y) \rVert^2, \quad
              \lambda \sim \mathrm{Beta}(\alpha, \alpha)

    with the probabilities f and the mean image :math:`\bar x` and label :math:`\bar y` of the
    training images.

    Notes
    -----
    Belghazi and Lopez-Paz 2021.  We average over five equally likely :math:`\lambda`, equal for all
    images; the authors' code draws five and replaces the mean image by single images.
    """

    shares: torch.Tensor
    mean_label: torch.Tensor
    mean_image: torch.Tensor

    def __init__(self, classes: int, *, alpha: float = ALPHA):
        super().__init__()
        self.register_buffer("shares", torch.from_numpy(beta_quantiles(alpha, 5)))
        self.register_buffer("mean_label", torch.zeros(classes))
        self.register_buffer("mean_image", torch.empty(0))
        self.register_load_state_dict_pre_hook(shaped_by("mean_image"))

    def learn(self, images: np.ndarray, labels: np.ndarray) -> None:
        """Take the mean of the training images, and of their labels."""
        mean = images.mean(axis=0, dtype=np.float64).astype(np.float32).transpose(2, 0, 1)
        self.mean_image = torch.from_numpy(np.ascontiguousarray(mean)).to(self.shares.device)
        counts = np.bincount(labels, minlength=len(self.mean_label))
        self.mean_label.copy_(torch.from_numpy(counts / len(labels)))

    def forward(self, classifier, images, features, logits):
        """Return minus the mean squared distance from linearity, [B]."""
        if images.shape[1:] != self.mean_image.shape:
            raise ValueError(
                f"images: of the shape {tuple(self.mean_image.shape)} of the training images "
                f"expected, got {tuple(images.shape[1:])}"
            )
        images = images.float()
        probabilities = logits.softmax(dim=1)
        total = 0.0
        for share in self.shares:
            mixed = share * images + (1 - share) * self.mean_image
            expected = share * probabilities + (1 - share) * self.mean_label
            answer = classifier(mixed).float().softmax(dim=1)
            total = total - (answer - expected).square().sum(dim=1)
        return total / len(self.shares)


class Imitation(Native):
    r"""How well a student has learned a random teacher's output on the features of an image.

    .. math:: s = -\lVert g_\text{student}(\varphi(x)) - g_\text{teacher}(\varphi(x)) \rVert^2

    Notes
    -----
    Burda et al. 2019, on features instead of images as in Belghazi and Lopez-Paz 2021.
    """

    def __init__(self, features: int, *, width: float = WIDTH, depth: float = DEPTH):
        super().__init__()
        self.student = _perceptron(features, width, depth)
        self.teacher = _perceptron(features, width, depth).requires_grad_(False)

    def errors(self, features: torch.Tensor) -> torch.Tensor:
        """Return the student's output minus the teacher's, [B, width]."""
        return (self.student(features) - self.teacher(features)).float()

    def penalty(self) -> torch.Tensor:
        """Return what a training keeps small in addition to the errors, a scalar; here 0."""
        return torch.zeros(())

    def forward(self, classifier, images, features, logits):
        """Return minus the squared length of the error, [B]."""
        return -self.errors(features).square().sum(dim=1)


class Certificates(Imitation):
    r"""Distance of an image's features from inputs that map to zero (orthogonal certificates).

    .. math:: s = -\lVert g(\varphi(x)) \rVert^2

    A student whose teacher always outputs zero.  Its layers are initialised as orthogonal.  They
    have no biases, because biases alone would allow the output zero for every input.

    Notes
    -----
    Tagasovska and Lopez-Paz 2019, with several layers as in Belghazi and Lopez-Paz 2021, whose code
    has biases.
    """

    def __init__(self, features: int, *, width: float = WIDTH, depth: float = DEPTH):
        Native.__init__(self)
        self.student = _perceptron(features, width, depth, bias=False)
        for layer in self.student:
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight)

    def errors(self, features: torch.Tensor) -> torch.Tensor:
        """Return the student's answers, [B, width]."""
        return self.student(features).float()

    def penalty(self) -> torch.Tensor:
        r"""Return the sum over layers of the mean square of :math:`W W^\top - I`, a scalar.

        The mean over entries, as in the authors' code, not their sum: with the sum, weights of the
        penalty from the law that they search diverge.  A layer that widens has :math:`W^\top W`
        there, which alone can be the identity.
        """
        penalties = []
        for layer in self.student:
            if isinstance(layer, nn.Linear):
                weight = layer.weight if layer.out_features <= layer.in_features else layer.weight.T
                gram = (weight @ weight.T).float()
                gap = gram - torch.eye(len(gram), device=gram.device)
                penalties.append(gap.square().mean())
        return sum(penalties[1:], start=penalties[0])


class TargetGap(Native):
    r"""How near the largest probability is to the target probability of training (soft labels).

    .. math:: s = -(\max_k p_k - \tau)^2

    Notes
    -----
    Belghazi and Lopez-Paz 2021.
    """

    positive: torch.Tensor

    def __init__(self, *, positive: float = POSITIVE):
        super().__init__()
        self.register_buffer("positive", torch.tensor(float(positive)))

    def forward(self, classifier, images, features, logits):
        """Return minus the squared distance, [B]."""
        return -(logits.softmax(dim=1).amax(dim=1) - self.positive).square()


def _perceptron(features: int, width: float, depth: float, *, bias: bool = True) -> nn.Sequential:
    """Return a multilayer perceptron with ReLU between its layers."""
    width = whole("width", width)
    layers = []
    for number in range(whole("depth", depth)):
        layers += [nn.Linear(width if number else features, width, bias=bias), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


#: The objectives for which `equip` changes the network.
EQUIPPED = ("mimo", "mixup", "oc", "rbf", "rnd", "soft_labels")


def equip(
    network: Backbone, num_classes: int, objective: str, arguments: dict[str, float]
) -> Native | None:
    """Put an objective's kind of head, and of first convolution, into a network in place."""

    def chosen(*names: str) -> dict[str, float]:
        return {name: arguments[name] for name in names if name in arguments}

    head = network.get_classifier()
    if objective == "rbf":
        _replace(network, head, RBFHead(head))
    elif objective == "mimo":
        count = whole("subnetworks", arguments.get("subnetworks", SUBNETWORKS))
        stem = next(module for module in network.modules() if isinstance(module, nn.Conv2d))
        _replace(network, stem, MultiInput(stem, count))
        _replace(network, head, MultiHead(head, count))
    elif objective == "mixup":
        return MixingGap(num_classes, **chosen("alpha"))
    elif objective == "rnd":
        return Imitation(head.in_features, **chosen("width", "depth"))
    elif objective == "oc":
        return Certificates(head.in_features, **chosen("width", "depth"))
    elif objective == "soft_labels":
        return TargetGap(**chosen("positive"))
    return None


def _replace(network: nn.Module, old: nn.Module, new: nn.Module) -> None:
    name = next(name for name, module in network.named_modules() if module is old)
    network.set_submodule(name, new)

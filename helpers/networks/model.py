"""One network or several, or passes through one, that answer together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from helpers import cache
from helpers.outputs import Head, Outputs, ensemble

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier


class Network(Protocol):
    """A network with its weights: a `helpers.training.fitted.Fitted`, or a `zoo.Pretrained`.

    Attributes
    ----------
    classifier : Classifier
        In evaluation mode, on the device.
    preprocessing : mapping
        Resizing and cropping of images for the network, as JSON stores them.
    view : mapping
        The same settings as arguments of ``images.in_order``.
    sha256 : str
        Digest of the weights.
    device, device_name : str
        Device that computes; device of the training, in words.
    threads : int
        Number of CPU threads.
    seconds : float
        Wall-clock time of the training, here.
    """

    @property
    def classifier(self) -> Classifier: ...
    @property
    def preprocessing(self) -> Mapping: ...
    @property
    def view(self) -> Mapping: ...
    @property
    def sha256(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def device_name(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def seconds(self) -> float: ...

    def outputs(self, images: Images | ImageStream, *, passes: int = 0) -> Outputs:
        """Return the outputs of a data set, from the cache if the network has seen it."""


@dataclass(frozen=True)
class Model:
    """One network, an ensemble, or dropout passes, as one classifier of images.

    Attributes
    ----------
    name : str
        Name in tables.
    networks : tuple of Network
        One network, or the members of an ensemble.
    passes : int
        Dropout passes for each image; 0 means no dropout.
    class_names : tuple of str
        Names of its K classes, by which images are numbered; by default they are already numbered.
    """

    name: str
    networks: tuple[Network, ...]
    passes: int = 0
    class_names: tuple[str, ...] = ()

    def outputs(self, images: Images | ImageStream) -> Outputs:
        """Return the outputs on images, with members if there are several networks or passes."""
        if self.class_names:
            images = images.renumber(self.class_names)
        outputs = [network.outputs(images, passes=self.passes) for network in self.networks]
        return outputs[0] if len(outputs) == 1 else ensemble(outputs)

    @property
    def classifiers(self) -> list[Classifier]:
        """Its networks as they are shown images again, without dropout."""
        return [network.classifier for network in self.networks]

    @cached_property
    def head(self) -> Head | None:
        """The last linear layer; None where there is no single one."""
        if len(self.networks) > 1:
            return None
        try:
            return self.networks[0].classifier.head
        except ValueError:  # the network ends in something else
            return None

    @cached_property
    def sha256(self) -> str:
        """Digest of everything that decides the outputs on numbered images."""
        networks = [[network.sha256, dict(network.preprocessing)] for network in self.networks]
        return cache.key(networks=networks, passes=self.passes)

    @cached_property
    def parameters(self) -> int:
        """The number of the weights of all networks.

        The two heads of a distilled network are one here, with one bias for both.
        """
        return sum(
            tensor.numel() for classifier in self.classifiers for tensor in classifier.parameters()
        )

    @property
    def cost(self) -> int:
        """Forward passes that an image costs."""
        return len(self.networks) * max(self.passes, 1)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the training of all its networks."""
        return sum(network.seconds for network in self.networks)

    @property
    def device_name(self) -> str:
        """The device on which its networks were trained, in words."""
        return self.networks[0].device_name

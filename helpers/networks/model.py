"""One network or several, or passes through one, that answer together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from helpers import cache
from helpers.outputs import Head, Outputs, ensemble

if TYPE_CHECKING:
    from helpers.data import Images, ImageStream
    from helpers.networks.backbones import Classifier
    from helpers.networks.zoo import Pretrained
    from helpers.training.fitted import Fitted

    #: A network with its weights.
    Network: TypeAlias = Fitted | Pretrained


@dataclass(frozen=True)
class Model:
    """One network, an ensemble, or dropout passes, as one classifier of images.

    Attributes
    ----------
    name : str
        Name in tables.
    networks : tuple of Fitted or Pretrained
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
        return [network.classifier.eval() for network in self.networks]

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
    def seconds(self) -> float:
        """Wall-clock time of the training of all its networks."""
        return sum(network.seconds for network in self.networks)

    @property
    def device_name(self) -> str:
        """The device on which its networks were trained, in words."""
        return self.networks[0].device_name

"""The demo: stored outputs of a published network."""

from __future__ import annotations

from helpers.data.class_lists import names_of
from helpers.files import sha256_file
from known_unknowns.auditing.inputs import Inputs
from known_unknowns.bench.feature_packs import EMBEDDED, FeaturePack

PACK = "densenet100.dice_cifar10.safetensors"
"""Its network was neither trained nor chosen on its test images, unlike the packs of ResNets."""
UNKNOWN = {"cifar100": "CIFAR-100", "mnist": "MNIST"}
"""One set near CIFAR-10 and one far from it, and their names in a sentence."""


def open_demo() -> tuple[Inputs, str]:
    """Return the inputs of the demo, and two sentences about the network and the images."""
    file = EMBEDDED / PACK
    pack = FeaturePack.read(file)
    ood = {name: (pack.near | pack.far)[name] for name in UNKNOWN}
    sizes = [f"{len(ood[name])} of {title}" for name, title in UNKNOWN.items()]
    description = (
        f"The demo audits DenseNet-100, trained on CIFAR-10 ({pack.facts['network']['source']}).\n"
        f"Its images: {len(pack.test)} test images of CIFAR-10 and, as images of unknown classes, "
        f"{' and '.join(sizes)}."
    )
    inputs = Inputs(
        source=pack.name,
        validation=pack.test,
        class_names=names_of(pack.id_set),
        head=pack.head,
        ood=ood,
        sha256={"outputs": sha256_file(file)},
    )
    return inputs, description

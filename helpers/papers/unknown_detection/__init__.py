"""*A Unified Benchmark for the Unknown Detection Capability of DNNs*.

Kim, Koo and Hwang (2023): nine methods rank correctly classified ID test images above
misclassified, near-OOD and far-OOD images.  `methods` has their records, `detectors` makes them.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="unknown_detection",
    order=1,
    title="A Unified Benchmark for the Unknown Detection Capability of Deep Neural Networks",
    heading="Unknown detection",
    key="kim2023",
    main_claim="ensemble",
    data_sets={
        "cifar10_mini": "CIFAR-40", "cifar100": "CIFAR-40", "cifar-bench": "CIFAR-40",
        "imagenet": "ImageNet-200", "imagenet-bench": "ImageNet-200",
    },
    test_sets={
        "svhn": "SVHN", "lsun_fix": "LSUN-FIX", "dtd": "DTD",
        "digits": "SVHN", "photographs": "LSUN-FIX", "woodgrain": "DTD",
        "chars74k_natural": "SVHN", "caltech_background": "LSUN-FIX", "dtd_subset": "DTD",
        "gaussian": "Gaussian Noise", "food101": "Food-32", "caltech256": "Caltech-45",
        "places365": "Places-82",
    },
    stand_ins={
        "digits": "digits", "photographs": "patches of two photographs",
        "woodgrain": "wood grain", "chars74k_natural": "letters (Chars74K)",
        "caltech_background": "web pictures (Caltech-101's background)",
    },
    networks={
        **dict.fromkeys(["resnet8", "resnet20", "resnet18", "efficientnet_lite0"], "ResNet18"),
        "resnet152": "ResNet-152",
    },
    metrics=(
        "accuracy", "auroc", "fpr_at_tpr", "risk_coverage_curve", "aurc", "eaurc", "augrc",
    ),
)  # fmt: skip

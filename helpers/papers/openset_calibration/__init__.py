"""*Evaluating Uncertainty Calibration for Open-Set Recognition* (Lyu et al. 2022).

Are probabilities calibrated, after temperature scaling and with OpenMax, if test images are of
unknown classes?
"""

from helpers.papers import Paper

PAPER = Paper(
    name="openset_calibration",
    order=5,
    title="Evaluating Uncertainty Calibration for Open-Set Recognition",
    heading="Open-set calibration",
    key="lyu2022",
    main_claim="open-set",
    data_sets={"cifar10_mini": "CIFAR10", "digits": "SVHN", "cifar10": "CIFAR10", "svhn": "SVHN"},
    networks={
        **dict.fromkeys(["resnet8", "resnet14", "resnet18"], "ResNet"),
        **dict.fromkeys(["densenet16", "densenet100"], "DenseNet"),
        **dict.fromkeys(["efficientnet_eighth", "efficientnet_b0"], "EfficientNet"),
        **dict.fromkeys([f"efficientnet_lite{size}" for size in range(3)], "EfficientNet"),
    },
    metrics=(
        "accuracy", "nll", "brier", "open_set_brier", "ece", "open_set_ece",
        "calibration_error_floor", "reliability_curve", "rejection_threshold",
    ),
)  # fmt: skip

"""*Unsupervised Evaluation of Out-of-distribution Detection*.

Zhang, Deng and Zheng (2023): a regression over many sets of unknown images predicts from the
scores of a mixture without labels how well a detector tells its images apart.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="gscore",
    order=4,
    title="Unsupervised Evaluation of Out-of-distribution Detection: A Data-centric Perspective",
    heading="Evaluation without labels",
    key="zhang2023",
    main_claim="correlation",
    settled_by="more ID sets, since the correlation with AUROC is close to our margin",
    data_sets={"cifar10_mini": "CIFAR-10", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100"},
    networks={
        **dict.fromkeys(["resnet8", "resnet8_erm", "resnet20", "resnet18"], "ResNet-18"),
        "densenet22": "DenseNet-121", "densenet121": "DenseNet-121", "resnet101": "ResNet-101",
        **{f"resnet{depth}.akamaster_cifar10": "ResNet-18" for depth in (20, 32, 44, 56)},
        "densenet100.dice_cifar10": "DenseNet-121",
    },
    beside="rows_beside",
    metrics=("accuracy", "auroc", "aupr", "fpr_at_tpr", "detection_error"),
)  # fmt: skip

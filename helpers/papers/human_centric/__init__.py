"""*Rethinking Out-of-Distribution Detection From a Human-Centric Perspective*.

Zhu et al. (2024): scores are judged by the errors of what they let pass, over many models.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="human_centric",
    order=2,
    title="Rethinking Out-of-Distribution Detection From a Human-Centric Perspective",
    heading="Human-centric evaluation",
    key="zhu2024",
    main_claim="consistent",
    data_sets=dict.fromkeys(
        ["cifar10_mini", "cifar10", "tiny_imagenet_64", "imagenet"], "imagenet"
    ),
    test_sets={
        "corrupted": "imagenet_c", "woodgrain": "textures", "dtd_subset": "textures",
        "flowers5": "inaturalist",
    },
    networks={
        **dict.fromkeys(
            ["resnet8", "resnet20", "resnet20.akamaster_cifar10", "resnet50"], "RN50"
        ),
        "tf_efficientnet_lite0": "MobileNetV2", "mobilenet_v2": "MobileNetV2", "vgg19": "VGG19",
        "nasnet_large": "NASNet-Large", "inception_v4": "Inception-v4", "senet154": "SENet154",
        "swin_base": "Swin-B", **dict.fromkeys(["vit6", "vit_base"], "ViT-B16"),
    },
    metrics=("accuracy", "auroc", "fpr_at_tpr", "rejection_threshold", "detection_error_rate"),
)  # fmt: skip

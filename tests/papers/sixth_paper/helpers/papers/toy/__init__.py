from helpers.papers import Paper

PAPER = Paper(
    name="toy",
    order=6,
    title="On Toys",
    heading="Toy",
    data_sets={"digits": "MNIST"},
    networks={"resnet8": "LeNet"},
    metrics=("accuracy",),
)

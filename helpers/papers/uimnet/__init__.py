"""*What classifiers know what they don't?*.

Belghazi and Lopez-Paz (2021): algorithms, each with hyper-parameters drawn at random and with or
without spectral normalisation, are trained in-domain; one trial or the ensemble of all is chosen by
its likelihood on held-out images, and measured in-domain and out-domain.  `algorithms` and
`measures` say what there is, `trials` trains, `experiment` chooses, `measuring` writes the rows.
"""

from helpers.papers import Paper

PAPER = Paper(
    name="uimnet",
    order=3,
    title="What classifiers know what they don't?",
    heading="Algorithms and measures",
    key="belghazi2021",
    main_claim="erm",
    claims_heading="The paper's conclusions",
    metrics=("accuracy", "nll", "ece", "auroc", "rejection_threshold", "domain_confusion"),
)

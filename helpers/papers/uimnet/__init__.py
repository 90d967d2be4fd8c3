"""*What classifiers know what they don't?* (Belghazi and Lopez-Paz 2021).

Algorithms with random hyper-parameters, with or without spectral normalisation, are trained on the
in-domain classes.  The likelihood of held-out images chooses a trial.  `trials` trains the
networks, `experiment` chooses and measures, `algorithms` and `measures` have the records.
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

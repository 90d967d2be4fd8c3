"""What a model lacks of what scores need."""

from types import SimpleNamespace

import numpy as np
import pytest

from helpers import scores
from helpers.outputs import Head, Outputs
from helpers.scores.info import LACKING, NEEDS, lacking

HEAD = Head(np.eye(3), np.zeros(3))
MEMBERS = np.full((2, 4, 3), 1 / 3)
KINDS = {  # networks, passes, head, members; and what is lacking
    "one network": ((1, 0, HEAD, None), {"members", "native"}),
    "several heads": ((1, 0, None, MEMBERS), {"native", "head", "level of the logits"}),
    "passes": ((1, 2, HEAD, MEMBERS), {"native", "images"}),
    "an ensemble": (
        (2, 0, None, MEMBERS),
        {"native", "head", "level of the logits", "one network"},
    ),
    # the mean over networks of means over passes has lost the level as well
    "an ensemble with passes": (
        (2, 2, None, MEMBERS),
        {"native", "head", "level of the logits", "one network", "images"},
    ),
}


def asked(networks, passes, head, members, native=None):
    model = SimpleNamespace(networks=(None,) * networks, passes=passes, head=head)
    return model, Outputs(np.zeros((4, 3)), np.zeros((4, 3)), np.zeros(4, int), members, native)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_kind_of_model_lacks(kind):
    given, expected = KINDS[kind]
    found = lacking(NEEDS, *asked(*given))
    assert set(found) == expected <= LACKING.keys()


def test_a_score_of_an_ensemble_is_left_out_if_rounding_errors_decide_it():
    """Energies of the logarithms of mean probabilities: 0, but for errors that rank the images."""
    generator = np.random.default_rng(0)
    members = generator.dirichlet(np.ones(3), size=(2, 500))
    logits = np.log(members.mean(axis=0)).astype(np.float32)
    outputs = Outputs(logits, np.zeros((500, 1)), np.zeros(500, int), members)
    energies = scores.create("energy").score_samples(outputs)
    assert 0 < np.abs(energies).max() < 1e-6
    model, _ = asked(*KINDS["an ensemble"][0])
    for name, expected in (("energy", ["level of the logits"]), ("entropy", [])):
        assert lacking(scores.create(name).info.needs, model, outputs) == expected

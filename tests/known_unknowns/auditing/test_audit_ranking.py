from dataclasses import replace

import numpy as np
import pytest

from helpers import scores
from helpers.metrics import aurc
from helpers.scores import base
from helpers.scores.logits import log_sum_exp
from known_unknowns.auditing import ranking, read_outputs
from known_unknowns.auditing.ranking import Groups, Half, _even, fitted, ranked, score_halves


def groups_of(inputs, replicates):
    """Return all images as groups, and as halves that leave none out."""
    sets = {ranking.ID: inputs.validation, **inputs.ood}
    halves = {name: Half(one, np.arange(len(one))) for name, one in sets.items()}
    counts = {name: len(one) for name, one in inputs.ood.items()}
    return Groups(inputs.validation.correct, counts, replicates, 0), halves


def test_in_blocks_a_score_says_the_same(inputs, monkeypatch):
    usable, _ = fitted(inputs)
    places = np.random.default_rng(0).permutation(len(inputs.validation))[:150]
    monkeypatch.setattr(ranking, "BLOCK", 64)
    found = score_halves(usable, {"some": Half(inputs.validation, places)})
    for name, score in usable.items():
        whole = score.score_samples(inputs.validation.subset(places))
        assert np.array_equal(found[name]["some"], whole), name


def test_every_score_is_ranked_or_left_out_for_what_is_not_given(inputs, arrays, write):
    usable, left_out = fitted(inputs)
    assert set(usable) | set(left_out) == set(scores.names()) and not set(usable) & set(left_out)
    assert set(left_out) == {"jacobian", "jsd", "native", "odin", "tta"}
    few = read_outputs(write({name: arrays[name] for name in ("logits", "labels")}))
    usable, left_out = fitted(few)
    assert set(usable) == {"energy", "entropy", "gap", "gen", "max_logit", "msp"}
    assert "features" in left_out["vim"] and "head's weights" in left_out["vim"]
    assert "training images" in left_out["openmax"]


def test_probabilities_leave_out_what_needs_the_level_of_the_logits(inputs, monkeypatch):
    """Those of the package, and one that is registered here and named nowhere else."""
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))

    @base.register
    class EnergyAtTwo(base.BlockwiseScore):
        info = replace(scores.create("energy").info, name="energy_at_two")

        def _scores(self, part):
            return 2 * log_sum_exp(part.logits / 2)

    usable, _ = fitted(inputs)
    _, left_out = fitted(replace(inputs, level=False))
    of_the_level = {"energy", "energy_at_two", "max_logit", "nnguide", "openmax", "scale", "vim"}
    assert of_the_level <= set(usable)
    assert {name for name in usable if name in left_out} == of_the_level
    assert "lost their level" in left_out["energy_at_two"]


def test_a_score_that_cannot_be_fitted_is_left_out_with_its_reason(arrays, write):
    kept = arrays["train_labels"] != 2
    for name in ("train_logits", "train_features", "train_labels"):
        arrays[name] = arrays[name][kept]
    _, left_out = fitted(read_outputs(write(arrays)))
    assert "got none of class 2" in left_out["mahalanobis"]


def test_errors_and_unknown_images_count_alike():
    assert _even(10, [2, 9, 9]) == [2, 4, 4]
    assert _even(100, [3, 3]) == [3, 3] and _even(7, [50, 50, 50]) == [2, 2, 3]


def test_the_union_has_as_many_unknown_images_as_errors(inputs):
    groups, halves = groups_of(inputs, 20)
    errors = (~inputs.validation.correct).sum()
    assert groups.shares == [max(errors, 20)]
    samples = score_halves({"msp": scores.create("msp")}, halves)["msp"]
    rows, drawn = groups.measured(samples)
    unknown = scores.create("msp").score_samples(inputs.ood["pets_and_toys"])[: groups.shares[0]]
    known = scores.create("msp").score_samples(inputs.validation)
    right = np.concatenate([inputs.validation.correct, np.zeros(len(unknown), bool)])
    value = aurc(np.concatenate([known, unknown]), right)
    assert rows.set_index("set")["value"]["all"] == pytest.approx(value)
    assert len(drawn) == 20 and rows["metric"].tolist() == ["aurc", "aurc", "auroc", "fpr95"]
    assert (rows["low"] <= rows["high"]).all()


def test_of_scores_that_may_be_as_good_the_most_modest_comes_first(inputs):
    """A copy of a score that asks for more is as good as the score itself."""

    class Copy:
        info = scores.create("knn").info

        def score_samples(self, outputs):
            return scores.create("msp").score_samples(outputs)

    usable = {"copy": Copy(), "msp": scores.create("msp")}
    groups, halves = groups_of(inputs, 50)
    _, best = ranked(usable, score_halves(usable, halves), groups)
    assert best == ["msp", "copy"]


def test_a_score_that_is_worse_beyond_noise_is_not_among_the_best(inputs):
    class Reversed:
        info = scores.create("msp").info

        def score_samples(self, outputs):
            return -scores.create("msp").score_samples(outputs)

    usable = {"msp": scores.create("msp"), "reversed": Reversed()}
    groups, halves = groups_of(replace(inputs, ood={}), 50)
    table, best = ranked(usable, score_halves(usable, halves), groups)
    assert best == ["msp"] and list(dict.fromkeys(table["score"])) == ["msp", "reversed"]

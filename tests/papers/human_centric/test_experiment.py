"""The protocol of the human-centric chapter, from networks to rows."""

import numpy as np
import pandas as pd
import pytest
from safetensors.torch import save_file

from helpers import metrics
from helpers.data import Images
from helpers.files import data_root
from helpers.outputs import Head, Outputs
from helpers.papers.human_centric.experiment import evaluate, parts
from helpers.papers.human_centric.measuring import Judged, judge, measure, resampled, scored
from helpers.papers.human_centric.networks import network
from helpers.papers.human_centric.roles import METHODS, Protocol, Roles
from helpers.report import results

TRAINING = {"epochs": 12, "batch_size": 16, "width": 4, "stem_stride": 2, "learning_rate": 0.05}
MODELS = {
    "resnet8": {},
    "resnet14": {"depth": 14},
    "resnet8+distilled": {"objective": "distillation"},
}
PROTOCOL = Protocol(replicates=20, score_arguments={"knn": {"k": 5}, "nnguide": {"k": 5}})


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("CACHE_ROOT", str(tmp_path / "cache"))
    monkeypatch.setenv("DATA_ROOT", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))


def images(n=60, seed=0, name="tiny", classes=("a", "b", "c")):
    """Images whose class is their brightness."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % len(classes)
    pixels = generator.integers(0, 40, (n, 16, 16, 3)) + labels[:, None, None, None] * 80
    return Images(pixels.astype(np.uint8), labels, classes, name, "train")


@pytest.fixture
def roles():
    return Roles(
        images(),
        images(40, 1),
        {"darker": images(30, 2)},
        {"other": images(20, 3, "other", ("x", "y", "z")), "more": images(10, 4, "more", ("u",))},
    )


def judged(n=200, seed=0):
    """Return outputs of a model with two classes, in which the score is the first logit's lead."""
    generator = np.random.default_rng(seed)

    def some(count, known=True):
        logits = generator.normal(size=(count, 2)).astype(np.float32) * 2
        labels = generator.integers(0, 2, count) if known else np.full(count, -1)
        return Outputs(logits, logits.copy(), labels)

    head = Head(np.eye(2, dtype=np.float32), np.zeros(2, np.float32))
    sizes = {"test": n, "in": 50, "out": 30}
    sources = {name: (name, size, np.arange(size)) for name, size in sizes.items()}
    return Judged(head, some(n), some(n), {"in": some(50)}, {"out": some(30, False)}, sources)


def rows_of(given, method):
    rows = measure(given, method, PROTOCOL, resampled(given, PROTOCOL))
    return pd.DataFrame(rows).set_index(["test_set", "metric"])


def test_thresholds_are_those_of_correct_training_images():
    """The largest that keep 95 and 99 per cent of them: the fifth and first percentiles."""
    given = judged()
    found = scored(given, "max_logit", PROTOCOL)
    right = np.sort(given.train.logits.max(axis=1)[given.train.correct])
    for metric, keep in (("der95", 0.95), ("der99", 0.99)):
        threshold = found.thresholds[metric]
        assert (right >= threshold).mean() >= keep
        assert (right > threshold).mean() < keep


def test_held_out_thresholds_are_those_of_other_images():
    """Of the half that did not fit the score; for one that fits nothing, of any half."""
    given = judged()
    order = np.random.default_rng(0).permutation(200)
    other = given.train.subset(order[1::2])
    right = np.sort(other.logits.max(axis=1)[other.correct])
    found = scored(given, "max_logit", PROTOCOL, held_out=True)
    assert found.thresholds["der99"] == right[int(len(right) * 0.01)]
    near, far = (scored(given, "knn", PROTOCOL, held_out=one).thresholds for one in (False, True))
    assert near["der99"] > far["der99"]  # an image of the bank is its own nearest neighbour


def test_rows_of_a_score_by_hand():
    given = judged()
    rows = rows_of(given, "max_logit")
    threshold = scored(given, "max_logit", PROTOCOL).thresholds["der95"]
    rates = []
    for name, outputs in given.sets.items():
        accepted = outputs.logits.max(axis=1) >= threshold
        wrong = (accepted & ~outputs.correct) | (~accepted & outputs.correct)
        assert rows.loc[(name, "der95"), "value"] == wrong.mean()
        rates.append(wrong.mean())
    # of a label-shifted set, the share that is accepted
    assert rows.loc[("out", "der95"), "value"] == accepted.mean()
    assert rows.loc[("average", "der95"), "value"] == pytest.approx(np.mean(rates))
    assert rows.loc[("input-shifted", "der95"), "value"] == rates[1]
    known, unknown = (given.sets[name].logits.max(axis=1) for name in ("test", "out"))
    right = given.test.correct
    assert rows.loc[("out", "auroc"), "value"] == metrics.auroc(known, unknown)
    assert rows.loc[("out", "auroc_correct"), "value"] == metrics.auroc(known[right], unknown)
    expected = metrics.fpr_at_tpr(known[right], unknown)
    assert rows.loc[("label-shifted", "fpr_at_tpr_correct"), "value"] == expected
    with_replicates = rows[[len(one) > 0 for one in rows["bootstrap"]]]
    assert set(with_replicates.index.get_level_values("test_set")) == {
        "test", "input-shifted", "label-shifted", "average",
    }  # fmt: skip
    for _, row in with_replicates.iterrows():
        assert len(row["bootstrap"]) == 20
        assert abs(np.mean(row["bootstrap"]) - row["value"]) < 0.1


def test_the_error_rate_of_what_is_accepted_in_any_case_is_the_share_of_wrong_answers():
    """A constant score keeps everything."""
    given = judged()
    flat = {name: np.zeros_like(getattr(given, name).logits) for name in ("train", "test")}
    same = Judged(
        given.head,
        Outputs(flat["train"], flat["train"], given.train.labels),
        Outputs(flat["test"], flat["test"], given.test.labels),
        {},
        {},
        {"test": given.sources["test"]},
    )
    rows = rows_of(same, "msp")
    assert rows.loc[("test", "der99"), "value"] == 1 - same.test.correct.mean()
    assert ("label-shifted", "auroc") not in rows.index


def test_the_whole_grid_in_one_table(roles):
    names = ["resnet8", "resnet8+distilled"]
    table = evaluate(
        "mini", "tiny", roles, names, list(METHODS), [0, 1], TRAINING, PROTOCOL,
        models=MODELS, teachers={"resnet8+distilled": "resnet14"}, progress=False,
    )  # fmt: skip
    failed = table[table["metric"] == "failed"]
    assert failed.empty, failed["notes"].tolist()
    assert set(table["method"]) == {"network", *METHODS}
    assert set(table["run"]) == {0, 1}
    assert set(table["variant"]) == {"primary", "held-out threshold"}
    averages = table[(table["metric"] == "der99") & (table["test_set"] == "average")]
    assert len(averages) == 2 * 2 * 2 * 17
    rows = table[table["test_set"] == "test"].groupby("metric").size()
    assert rows["parameters"] == rows["accuracy"] == 8
    again = evaluate(
        "mini", "tiny", roles, names, list(METHODS), [0, 1], TRAINING, PROTOCOL,
        models=MODELS, teachers={"resnet8+distilled": "resnet14"}, progress=False,
    )  # fmt: skip
    pd.testing.assert_frame_equal(table.drop(columns=["seconds"]), again.drop(columns=["seconds"]))


def test_a_model_that_fails_is_a_row_and_ends_nothing(roles, tmp_path):
    path = tmp_path / "table.parquet"
    table = evaluate(
        "mini", "tiny", roles, ["tf_efficientnet_lite3", "resnet8"], ["msp"], [0], TRAINING,
        PROTOCOL, models=MODELS, progress=False,
    )  # fmt: skip
    failed = table[table["metric"] == "failed"]
    assert failed["backbone"].tolist() == ["tf_efficientnet_lite3"]
    assert "FileNotFoundError: weights of 'tf_efficientnet_lite3'" in failed["notes"].item()
    assert "resnet8" in set(table["backbone"])
    results.write(table, path)
    assert len(results.read(path)) == len(table)


def test_a_score_that_lacks_something_is_a_row_and_ends_nothing(roles):
    """Statistics of a class without training images."""
    few = roles.train.subset(roles.train.labels < 2)
    table = evaluate(
        "mini", "tiny", Roles(few, roles.test, {}, {}), ["resnet8"], ["msp", "mahalanobis"], [0],
        TRAINING, PROTOCOL, models=MODELS, progress=False,
    )  # fmt: skip
    failed = table[table["metric"] == "failed"]
    assert failed["method"].tolist() == ["mahalanobis"] * 2  # in both variants
    for said in failed["notes"]:
        assert "at least one image of each class expected, got none of class 2" in said


def test_a_pretrained_network_is_judged_on_the_classes_of_the_data_and_on_all(roles, monkeypatch):
    """Its other classes make an image of theirs unknown, and known again in the other variant."""
    import timm
    import torch

    monkeypatch.setattr("helpers.networks.zoo.wnids_of", lambda name: [])
    with torch.random.fork_rng():
        model = timm.create_model("test_resnet", num_classes=5)
    folder = data_root() / "weights"
    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "mine.safetensors")
    monkeypatch.setattr(
        "timm.create_model",
        lambda name, create=timm.create_model, **options: create(name, num_classes=5, **options),
    )
    found = network("mine", roles.train, {}, {}, pretrained={"mine": "test_resnet"}, progress=False)
    assert found.class_names == ("0", "1", "2", "3", "4")
    digits = Roles(
        images(30, 0, "some", ("3", "0")),
        images(20, 1, "some", ("3", "0")),
        {},
        {"mixed": images(20, 2, "mixed", ("0", "4"))},
    )
    primary = judge(found, digits)
    assert primary.head.weight.shape[0] == 2 and primary.test.num_classes == 2
    assert len(primary.label_shifted["mixed"]) == 10  # the images of class 4
    everything = judge(found, digits, all_classes=True)
    assert everything.test.num_classes == 5 and "mixed" not in everything.label_shifted
    np.testing.assert_array_equal(primary.test.logits, everything.test.logits[:, [3, 0]])
    np.testing.assert_allclose(
        primary.test.features @ primary.head.weight.T + primary.head.bias,
        primary.test.logits, atol=1e-4,
    )  # fmt: skip


def test_an_image_is_drawn_together_with_its_corrupted_versions(roles):
    chosen = np.array([3, 3, 0])
    twice = roles.test.subset(chosen)
    found = network("resnet8", roles.train, MODELS, TRAINING, progress=False)
    given = judge(
        found,
        Roles(roles.train, roles.test, {"corrupted": twice}, {}, {"corrupted": ("test", chosen)}),
    )
    draw = resampled(given, PROTOCOL)
    assert (draw["corrupted"] == draw["test"][:, chosen]).all()


def test_an_input_shifted_set_of_other_classes_is_refused(roles):
    found = network("resnet8", roles.train, MODELS, TRAINING, progress=False)
    other = Roles(roles.train, roles.test, {"v2": images(6, 0, "v2", ("0", "1"))}, {})
    with pytest.raises(ValueError, match="v2: 'resnet8' knows none of its classes by name"):
        judge(found, other)


def test_a_strategy_without_weights_of_its_own_is_not_the_plain_network(roles):
    both = {"net": "test_resnet", "net+augmix": "test_resnet"}
    with pytest.raises(FileNotFoundError, match=r"weights of 'net\+augmix': not found"):
        network("net+augmix", roles.train, {}, {}, pretrained=both, progress=False)


def test_mistakes_are_refused_before_anything_is_trained(roles):
    arguments = ("mini", "tiny", roles, ["resnet8"], ["msp"], [0], TRAINING)
    with pytest.raises(ValueError, match="score 'msp' has no arguments, got 'k'"):
        evaluate(*arguments, Protocol(score_arguments={"msp": {"k": 1}}), models=MODELS)
    wrong = {"resnet8+adversarial_1": {"objective": "adversarial",
                                       "objective_arguments": {"radius": 0.5}}}  # fmt: skip
    with pytest.raises(
        ValueError, match=r"resnet8\+adversarial_1': its recipe has a radius of 0.5"
    ):
        evaluate(*arguments, PROTOCOL, models=MODELS | wrong)


def test_teachers_are_trained_first():
    found = parts({"names": ["a", "b", "c"], "teachers": {"a": "c"}})
    assert found == ["c", "a", "b"]

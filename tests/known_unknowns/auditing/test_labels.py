"""Labels of new images come back: a random draw, numbers that hold, a table to fill in."""

import json
import os
import re
import shlex
import warnings
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from known_unknowns.auditing import audit, figures, read_outputs
from known_unknowns.auditing.command import main
from known_unknowns.auditing.commands.places import HOLDS, REFUSED
from known_unknowns.auditing.labelling import LABELS, draw
from known_unknowns.auditing.rejector import Rejector
from known_unknowns.auditing.report import bars
from known_unknowns.few_labels import labelled_share

SHARE = 0.3  # of unknown images


def outputs(labels, generator):
    """Return made-up logits; images with the label −1 are like no class."""
    known = np.eye(5)[labels, :4] * (labels >= 0)[:, None]
    return 6 * known + 2 * generator.normal(size=known.shape)


@pytest.fixture
def truth(here, without_figures):
    """The labels of 2,000 new images, whose outputs are in outputs.npz without them."""
    generator = np.random.default_rng(0)
    labels = generator.integers(4, size=2400)
    new = np.where(generator.random(2000) < SHARE, -1, generator.integers(4, size=2000))
    np.savez(
        "outputs.npz",
        logits=outputs(labels, generator),
        labels=labels,
        class_names=["ant", "bee ", "cow", "dog"],
        production_logits=outputs(new, generator),
    )
    return new


def labels_of(truth, count):
    """Return the labels of images that are drawn, and −2 for the others."""
    given = np.full(len(truth), -2)
    drawn = draw(truth, 0)[:count]
    given[drawn] = truth[drawn]
    return given


def fill(truth):
    """Fill in the table of an audit, and return its path."""
    table = pd.read_csv("my audit/to_label.csv", dtype=str, keep_default_na=False)
    words = np.array(["ant", "bee", "cow", "dog", "-1"])
    table["label"] = words[truth[table["image"].astype(int)]]
    table.to_csv("my audit/to_label.csv", index=False)
    return table


def test_the_loop_closes(truth, capsys):
    """Audit, label 60 images, audit again, and again: the numbers hold, the intervals shrink."""
    data = np.load("outputs.npz")
    right = data["production_logits"].argmax(axis=1) == truth
    command = ["audit", "outputs.npz", "--risk", "0.1", "--out", "my audit"]
    assert main(command) == HOLDS
    low, high = audit("outputs.npz", risk=0.1).unlabelled.accuracy
    widths = [high - low]
    for labels in (LABELS, 2 * LABELS):
        fill(truth)
        printed = capsys.readouterr().out
        (again,) = re.findall(r"`known-unknowns (audit .*?)`", printed)
        if labels == LABELS:  # the next command names the new table again
            os.rename("my audit/to_label.csv", "copy.csv")
            again = again.replace("'my audit/to_label.csv'", "copy.csv")
        assert main(shlex.split(again)) == HOLDS
        labelled = {**data, "production_labels": labels_of(truth, labels)}
        audited = audit(labelled, risk=0.1, require=["risk<=0.1"])
        seen = audited.unlabelled.labelled
        assert (seen.images, seen.drawn) == (labels, True)
        accepted = audited.rejector.accepts(data["production_logits"])
        for name, value in (
            ("accuracy", right.mean()),
            ("unknown", SHARE),
            ("risk", (~right[accepted]).mean()),
        ):
            interval = getattr(seen, name)
            assert interval.low <= value <= interval.high
        widths.append(seen.accuracy.high - seen.accuracy.low)
        assert audited.sentences("unlabelled")[1].startswith(f"By {labels} labels")
    assert f"By {2 * LABELS} labels" in capsys.readouterr().out
    assert widths == sorted(widths, reverse=True)
    assert widths[1] < 0.85 * widths[0]
    assert len(pd.read_csv("my audit/to_label.csv")) == 3 * LABELS
    assert audited.unlabelled.labelled.guarantee.state == "broken"
    assert not audited.requirements[0]["holds"]
    assert "Do not use the rejector for images like the unlabelled ones" in audited.summary()[-2]
    assert audited.summary()[-1].startswith("Label 60 more images")


def test_labels_are_not_lost_and_belong_to_their_images(truth, capsys):
    command = ["audit", "outputs.npz", "--risk", "0.1", "--out", "my audit"]
    assert main(command) == HOLDS
    table = fill(truth)
    assert main([*command, "--force"]) == REFUSED
    assert "has labels, which would be lost" in capsys.readouterr().err
    audited = audit("outputs.npz", risk=0.1, replicates=2)
    with pytest.raises(ValueError, match="has labels, which would be lost"):
        audited.save("my audit")
    again = "audit outputs.npz --risk 0.1 --out b --labels".split()
    # as a spreadsheet may save it: in the letters of one country
    table.replace("ant", "amé").to_csv("my audit/to_label.csv", index=False, encoding="cp1252")
    for refused in ([*command, "--force"], [*again, "my audit/to_label.csv"]):
        assert main(refused) == REFUSED
        assert "is no text in UTF-8" in capsys.readouterr().err
    table.to_csv("my audit/to_label.csv", index=False, sep=";")
    assert main([*again[:-2], "c", "--labels", "my audit/to_label.csv"]) == HOLDS
    table.to_csv("my audit/to_label.csv", index=False)
    table["outputs"] = table["outputs"].iloc[::-1].to_numpy()
    table.to_csv("mixed.csv", index=False)
    assert main([*again, "mixed.csv"]) == REFUSED
    assert "with outputs that this file does not have" in capsys.readouterr().err
    for old, new, message in (
        ("cow", "cwo", "the nearest of class_names: 'cow'"),
        ("-1", "unknown", "names of 4 classes expected, got 'unknown'"),
        ("label", "answer", "has no column 'label'"),
    ):
        text = open("my audit/to_label.csv").read()
        open("wrong.csv", "w").write(text.replace(f",{old}\n", f",{new}\n"))
        assert main([*again, "wrong.csv"]) == REFUSED
        assert message in capsys.readouterr().err
    np.savez("known.npz", logits=np.load("outputs.npz")["logits"], labels=np.arange(2400) % 4)
    assert main(["audit", "known.npz", "--labels", "my audit/to_label.csv"]) == REFUSED
    assert "there are none" in capsys.readouterr().err


def test_images_that_somebody_chose_are_no_random_draw(truth):
    """The audit says so; from all labels, it counts."""
    data = dict(np.load("outputs.npz"))
    surest = np.sort(data["production_logits"], axis=1)[:, -1].argsort()[-60:]
    chosen = np.full(len(truth), -2)
    chosen[surest] = truth[surest]
    audited = audit(data | {"production_labels": chosen}, risk=0.1)
    assert not audited.unlabelled.labelled.drawn
    assert "require that the labelled images are a random draw" in " ".join(
        audited.sentences("unlabelled")
    )
    whole = audit(data | {"production_labels": truth}, risk=0.1).unlabelled
    assert whole.to_label == []
    right = data["production_logits"].argmax(axis=1) == truth
    assert whole.labelled.accuracy.value == pytest.approx(right.mean())


@pytest.mark.parametrize(
    "labels",
    [
        [0, -1, -2, 3],
        ["ant", "-1", "", "dog"],
        [0.0, -1.0, np.nan, 3.0],
        np.array([0, -1, -2, 3], np.int8),
    ],
)
def test_labels_of_some_images_have_several_forms(truth, labels):
    arrays = dict(np.load("outputs.npz"))
    arrays["production_logits"] = arrays["production_logits"][:4]
    read = read_outputs(arrays | {"production_labels": labels})
    assert read.production_labels.tolist() == [0, -1, -2, 3]
    for wrong, message in (
        ([0, -1, -3, 3], "-2 for no label expected, got -3; write -2"),
        ([0, -1, 4, 3], "0 to 3 expected, got 0 to 4"),
        ([0, -1], "one for each of the 4 rows of production_logits"),
    ):
        with pytest.raises(ValueError, match=f"production_labels: .*{message}"):
            read_outputs(arrays | {"production_labels": wrong})
    del arrays["production_logits"]
    with pytest.raises(ValueError, match="production_logits: missing, though there is"):
        read_outputs(arrays | {"production_labels": labels})


def test_a_table_may_have_labels_of_some_production_images(tmp_path):
    generator = np.random.default_rng(0)
    rows = pd.DataFrame(generator.normal(size=(44, 2)), columns=["logit_ant", "logit_bee"])
    rows["set"] = ["validation"] * 40 + ["production"] * 4
    rows["label"] = ["ant", "bee"] * 20 + ["bee", "", "-1", "ant"]
    rows["file"] = [f"{number}.png" for number in range(44)]
    rows.to_csv(tmp_path / "table.csv", index=False)
    read = read_outputs(tmp_path / "table.csv")
    assert read.production_labels.tolist() == [1, -2, -1, 0]
    assert read.production_files == ("40.png", "41.png", "42.png", "43.png")


@pytest.mark.parametrize(("share", "images"), [(0.0, 1000), (0.05, 200), (0.2, 1000), (0.8, 1000)])
@pytest.mark.parametrize("labels", [20, 60, 200])
def test_the_interval_holds_and_uses_the_confidences(share, images, labels):
    """In 1,000 draws; the interval of PPI++ alone holds in 87 % without unknown images."""
    generator = np.random.default_rng(0)
    held = []
    worth = []
    for _ in range(1000):
        sure = generator.beta(6, 1, size=images)
        known = generator.random(images) >= share
        happened = known & (generator.random(images) < sure)
        sure = np.where(known, sure, 0.6 * sure)
        drawn = generator.permutation(images)[:labels]
        found = labelled_share(happened[drawn], sure, drawn)
        held.append(found.low <= (1 - share) * 6 / 7 <= found.high)
        worth.append(found.worth)
    assert np.mean(held) >= 0.94
    if labels == 60 and share:
        assert np.mean(worth) > 66


def test_enough_labels_guarantee_a_threshold_for_the_new_images(truth):
    """The old threshold has a risk of 30 % on these images, and the new one of at most 10 %."""
    data = dict(np.load("outputs.npz"))
    right = data["production_logits"].argmax(axis=1) == truth
    given = labels_of(truth, 300)
    audited = audit(data | {"production_labels": given}, risk=0.1)
    assert audited.deployed == "production"
    accepted = audited.rejector.accepts(data["production_logits"])
    assert accepted.mean() > 0.4
    assert (~right[accepted]).mean() <= 0.1
    old = audited.samples["production"] >= audited.thresholds["risk"].value
    assert (~right[old]).mean() > 0.25
    assert "for images like the unlabelled ones" in audited.sentences("guarantee")[0]
    # thresholds of answers are for the validation images, and no share of unknown images helps
    assert (
        audited.rejector.by_answer is None and audit(data, risk=0.1).rejector.by_answer is not None
    )
    ood = {"ood_noise_logits": data["production_logits"][truth < 0]}
    both = audit(data | {"production_labels": given} | ood, risk=0.1)
    sentences = " ".join(
        text
        for name in ("about_unlabelled", "about_drift", "limits")
        for text in both.sentences(name)
    )
    assert both.deployed == "production" and both.unlabelled.to_state is None
    assert "--share" not in sentences and "No guarantee covers" not in sentences
    words = f"keeps {100 * accepted.mean():.1f} % of the unlabelled"
    assert words in audited.sentences("accept")[0]
    assert audited.unlabelled.labelled.guarantee is None
    chosen = given[np.random.default_rng(1).permutation(len(given))]  # labels of other images
    assert "production" not in audit(data | {"production_labels": chosen}, risk=0.1).thresholds
    alike = data | {"production_logits": data["logits"], "production_labels": data["labels"]}
    assert audit(alike, risk=0.1).deployed == "risk"


def test_a_threshold_for_new_images_may_accept_no_validation_image(here):
    """Half of the new images are of no class, and the answers to the others are very confident."""
    generator = np.random.default_rng(0)
    labels = np.arange(400) % 4
    new = np.where(np.arange(1000) < 500, -1, np.arange(1000) % 4)
    noise = generator.normal(size=(1000, 4))
    sure = np.where((new < 0)[:, None], 0.01 * noise, 9 * np.eye(4)[new] + noise)
    data = {
        "logits": 2 * np.eye(4)[labels] + noise[:400].clip(-1, 1),
        "labels": labels,
        "production_logits": sure,
        "production_labels": labels_of(new, 400),
    }
    audited = audit(data, risk=0.05, replicates=2)
    assert (audited.deployed, audited.threshold.coverage[0]) == ("production", 0.47)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audited.save("a")
    numbers = json.loads(Path("a/audit.json").read_text())
    assert numbers["curve"][-1]["risk"] is None
    assert not re.search(r"\bnan\b", json.dumps(numbers["findings"]))
    assert Rejector.load("a/rejector.safetensors") == audited.rejector


def test_every_threshold_is_drawn(truth):
    """A risk that cannot be guaranteed has four others, and labels give a threshold, too."""
    data = dict(np.load("outputs.npz")) | {"production_labels": labels_of(truth, 300)}
    audited = audit(data, risk=0.1, costs=(50, 2), replicates=2)
    thresholds = audited.thresholds
    others = dict.fromkeys(("smallest", "average"), thresholds["coverage"])
    others["risk"] = thresholds["risk"].without_value("it is too small")
    audited = replace(audited, thresholds=thresholds | others)
    for draw_figure in (figures.selective_risk, figures.scores_and_thresholds):
        names = draw_figure(audited).get_legend_handles_labels()[1]
        expected = {"risk on average", "guaranteed larger risk", "guaranteed for unlabelled images"}
        assert expected | {"guaranteed cost", "guaranteed coverage"} <= {*names}
        plt.close()


def test_labels_do_not_break_a_risk_on_average(truth):
    """It is no guarantee, but labels can show that the rejector is not for these images."""
    data = dict(np.load("outputs.npz")) | {"production_labels": labels_of(truth, 300)}
    few = {name: data[name][:250] for name in ("logits", "labels")}
    audited = audit(data | few, risk=0.01, fallback="average")
    assert audited.deployed == "average"
    assert audited.unlabelled.labelled.guarantee is None
    assert audited.unlabelled.labelled.risk.low > 0.01
    text = " ".join(audited.summary())
    assert text.count("guarantee") == 2
    assert "This is no guarantee" in text and "until enough labels guarantee" in text
    assert "unlike these images, and the average does not cover them" in text
    assert "Do not use the rejector for images like the unlabelled ones" in text


def test_the_picture_shows_the_new_images_with_and_without_a_rejector(truth):
    data = dict(np.load("outputs.npz"))
    right = data["production_logits"].argmax(axis=1) == truth
    for risk in (0.1, 1e-4):
        (*_, without) = bars(audit(data, risk=risk))
        assert without["unsure"] + without["left"] == 1
        (*_, new) = bars(audit(data | {"production_labels": truth}, risk=risk, replicates=2))
        assert new["images"] == "unlabelled images"
        assert new["unsure"] == 0
        if risk < 0.1:
            assert new["right"] == pytest.approx(right.mean())
            assert new["wrong"] == pytest.approx((~right).mean())


def test_the_share_to_state_is_the_upper_end_of_the_share_of_unknown_images(truth):
    ood = outputs(np.full(300, -1), np.random.default_rng(1))
    given = {"production_labels": labels_of(truth, 60), "ood_noise_logits": ood}
    seen = audit({**np.load("outputs.npz"), **given}, risk=0.1, replicates=2).unlabelled
    share = seen.labelled.unknown
    assert seen.to_state == round(share.high + 0.005, 2) > share.value + 0.05

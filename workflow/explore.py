"""Write the figure with a slider of each chapter, from the outputs of one published network.

matplotlib draws the curves; the script in the template moves a line and changes the sentence.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from pages import render
from scipy.stats import norm

from helpers import labelfree, metrics, scores
from helpers.metrics.calibration import calibration_error
from helpers.outputs import Outputs
from helpers.scores.calibration import confidences, fit_temperature
from helpers.tables.figures.style import BLUE, GREY, RED, method_styles, use_style
from helpers.tables.table import number
from known_unknowns.bench import FeaturePack, values_on
from known_unknowns.bench.feature_packs import EMBEDDED
from synthesis.findings import short_title
from synthesis.findings.front_page import NO_METADATA

NETWORK = "resnet20.akamaster_cifar10"
#: Positions of a slider.
STEPS = 41


#: The values of one axis or curve.
Values = Sequence[float] | np.ndarray


class Figure(NamedTuple):
    """Titles of both axes, the positions of the slider on x, and the curves at these positions.

    Positions are equidistant, so that the knob of the slider is below the line.  Curves are shares,
    except the Gscore.  With `moving`, the figure has two groups of images, of equal shape, and the
    slider moves the second group; the curves are only in the sentence.
    """

    x: str
    y: str
    positions: Values
    curves: Mapping[str, Values]
    moving: tuple[Values, Values] | None = None
    colours: Sequence[str] = (BLUE, RED, GREY, GREY)

    @property
    def label(self) -> str:
        """The name of the axis without its unit."""
        return self.x.removesuffix(" (%)")

    def sentences(self) -> list[str]:
        """Return the values of all curves at each position, in words.

        >>> Figure("coverage (%)", "", [50, 100], {"risk": [0.0, 0.1]}).sentences()
        ['Coverage 50.0 %: risk 0.0 %.', 'Coverage 100.0 %: risk 10.0 %.']
        """
        columns = [in_words(self.label.capitalize(), self.positions, self.label != self.x)]
        for name, values in self.curves.items():
            scaled = values if name == "Gscore" else np.multiply(values, 100)
            columns.append(in_words(name, scaled, name != "Gscore"))
        return [f"{x}: {', '.join(values)}." for x, *values in zip(*columns, strict=True)]


def in_words(name: str, values: Values, in_percent: bool) -> list[str]:
    """Return named values, in per cent with one decimal."""
    pattern, unit = (".1f", " %") if in_percent else (".2f", "")
    return [f"{name} {number(round(value, 2) + 0.0, pattern)}{unit}" for value in values]


def write() -> dict[str, str]:
    """Return each chapter's figure with a line about the images, as Markdown."""
    pack = FeaturePack.read(EMBEDDED / f"{NETWORK}.safetensors")
    pages = {}
    for make in FIGURES:
        paper = make.__name__
        parts = draw(paper, make(pack))
        pages[paper] = render("explore.md", pack=pack, paper=paper, **parts)
    return pages


def draw(name: str, figure: Figure) -> dict:
    """Return the parts of a figure: an SVG, and the first position of the slider and its ends."""
    use_style()
    start = STEPS // 4
    with plt.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        drawn, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
        if figure.moving:
            grid, images = figure.moving
            ax.fill_between(grid, images, alpha=0.5, label="known images")
            look: dict[str, Any] = {"alpha": 0.5, "label": "unknown images", "gid": "cursor"}
            ax.fill_between(np.add(grid, figure.positions[start]), images, color=RED, **look)
            reach = np.ptp(grid) / 2 + np.abs(figure.positions).max()
            ax.set(xlim=(-reach, reach), ylim=0)
        else:
            ax.set_prop_cycle(color=figure.colours, linestyle=["-", "--", "-.", ":"])
            for label, values in figure.curves.items():
                ax.plot(figure.positions, np.multiply(values, 100), label=label)
            ax.axvline(figure.positions[start], color="black", gid="cursor")
        ax.set(xlabel="score" if figure.moving else figure.x, ylabel=figure.y)
        drawn.legend(loc="outside upper center", ncols=2)  # no curve crosses it
        drawn.savefig(svg := io.StringIO(), format="svg", metadata=NO_METADATA)
        places = ax.transData.transform([(x, 0) for x in figure.positions])
        plt.close(drawn)
    markup = "<svg" + svg.getvalue().partition("<svg")[2]
    ends = places[[0, -1], 0] / drawn.bbox.width
    return {"svg": markup, "figure": figure, "start": start, "ends": ends}


join = np.concatenate


def groups_of(pack: FeaturePack, score: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the scores of the test images, of the near and of the far images."""
    scorer = scores.create(score)

    def of(group: Iterable[Outputs]) -> np.ndarray:
        return join([scorer.score_samples(part) for part in group])

    return of([pack.test]), of(pack.near.values()), of(pack.far.values())


def openset_calibration(pack: FeaturePack) -> Figure:
    """Compute the ECE at each temperature, with and without unknown images."""
    test = pack.test
    near = join([part.logits for part in pack.near.values()])
    both = join([test.logits, near])
    correct = join([test.correct, np.zeros(len(near), bool)])
    fitted = fit_temperature(test.logits, test.labels)
    temperatures = np.linspace(fitted / 3, 3 * fitted, STEPS)
    alone = [calibration_error(confidences(test.logits, t), test.correct) for t in temperatures]
    mixed = [calibration_error(confidences(both, t), correct) for t in temperatures]
    name = f"with {100 * len(near) / len(both):.0f} % near unknown images"
    curves = {"known images": alone, name: mixed}
    return Figure("temperature", "ECE (%), lower is better", temperatures, curves)


def unknown_detection(pack: FeaturePack) -> Figure:
    """Compute the risk at each coverage of the union of test, near and far images."""
    values = join(groups_of(pack, "msp"))
    accepted = values >= np.quantile(values, np.linspace(0.99, 0, STEPS))[:, None]
    test, unknown = np.split(accepted, [len(pack.test)], axis=1)
    counts = accepted.sum(axis=1)
    errors = test @ (1 - pack.test.correct)
    curves = {
        "incorrect known images": errors / counts,
        "unknown images": unknown.sum(axis=1) / counts,
        "risk (both)": (errors + unknown.sum(axis=1)) / counts,
    }
    y = "share of accepted images (%)"
    return Figure("coverage (%)", y, 100 * counts / len(values), curves)


def human_centric(pack: FeaturePack) -> Figure:
    """Compute both errors of each threshold, and the detection error rate."""
    test, _, far = groups_of(pack, "max_logit")
    values = join([test, far])
    known = join([pack.test.correct, np.zeros(len(far), bool)])
    low, high = np.quantile(values, [0.005, 0.995])
    thresholds = np.linspace(low, high, STEPS)
    rates = [metrics.detection_error_rate(values, known, t) for t in thresholds]
    curves = {
        "correct but rejected": [(values[known] < t).mean() for t in thresholds],
        "incorrect or unknown but accepted": [(values[~known] >= t).mean() for t in thresholds],
        "detection error rate": rates,
    }
    return Figure("threshold of the maximum logit", "share (%)", thresholds, curves)


def uimnet(pack: FeaturePack) -> Figure:
    """Compute the domain confusion of known and near images at each threshold."""
    test, near, _ = groups_of(pack, "entropy")
    thresholds = np.linspace(min(test.min(), near.min()), 0, STEPS)
    shares = [metrics.domain_confusion(test, near, t)._asdict() for t in thresholds]
    curves = {name: [share[name] for share in shares] for name in shares[0]}
    title = "threshold of the negative entropy"
    return Figure(title, "share (%)", thresholds, curves, colours=(BLUE, BLUE, RED, RED))


def gscore(_: FeaturePack) -> Figure:
    """Compute the Gscore, both metrics and a prediction for two groups of scores that move apart.

    The line learns from groups of unknown images with lower scores only.
    """
    count = 400
    known = norm.ppf((np.arange(count) + 0.5) / count)
    shifts = np.linspace(-2.5, 2.5, STEPS)
    name = "ude_wasserstein"
    mixtures = [join([known, known + shift]) for shift in shifts]
    gscores = np.stack(
        [labelfree.gscores(each, [name], validation=known)[name] for each in mixtures]
    )
    rates = np.array([metrics.fpr_at_tpr(known, known + shift) for shift in shifts])
    usual = shifts <= 0
    line = labelfree.fit_regression(gscores[usual], rates[usual], labelfree.TAUS)
    gscores = gscores[:, line.tau == labelfree.TAUS][:, 0]
    curves: dict[str, Values] = {
        "Gscore": gscores,
        "AUROC": [metrics.auroc(known, known + shift) for shift in shifts],
        "FPR95": rates,
        "predicted FPR95": line.predict(gscores).clip(0, 1),
    }
    grid = np.linspace(-3.5, 3.5, 200)
    return Figure("mean score of unknown images", "density", shifts, curves, (grid, norm.pdf(grid)))


def synthesis(pack: FeaturePack) -> Figure:
    """Compare AURCs at each share of unknown images, which decides the ranking."""
    total = sum(map(len, (pack.near | pack.far).values()))
    shares = np.linspace(0, total / (total + len(pack.test)), STEPS)
    counts = np.round(len(pack.test) * shares / (1 - shares)).astype(int)
    curves = {}
    for name in ("msp", "energy", "knn", "vim"):
        groups = values_on(pack, name)
        test = groups.pop("test")
        unknown = join([*groups.values()])
        unknown = np.random.default_rng(0).permutation(unknown)
        curves[short_title(name)] = [
            metrics.aurc(join([test, unknown[:n]]), join([pack.test.correct, np.zeros(n, bool)]))
            for n in counts
        ]
    baseline = next(iter(curves.values()))
    gaps = {name: np.subtract(areas, baseline) for name, areas in curves.items()}
    colours = [look["color"] for look in method_styles(gaps).values()]
    return Figure(
        "share of unknown images (%)",
        "AURC − AURC of MSP (%),\nlower is better",
        100 * shares,
        gaps,
        colours=colours,
    )


#: The figure of each chapter, by the chapter's name.
FIGURES = (openset_calibration, unknown_detection, human_centric, uimnet, gscore, synthesis)

"""A rejector as an ONNX file: its score, its verdict, and the answer, wherever ONNX is run.

The scores that are matrix products, the largest of many numbers and log-sum-exp are written down
once more here, as operators of ONNX in double precision.  What comes out differs from NumPy by
rounding alone, since libraries order their sums differently: of an image whose score equals the
threshold within 1e-9 or so, the verdicts can differ.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from helpers import __version__
from helpers.files import atomic_path
from helpers.scores import neighbours as relation
from helpers.scores.calibration import softmax
from known_unknowns.auditing.onnx_graph import Graph, Value, import_onnx
from known_unknowns.auditing.rejector import Rejector

OPSET, IR_VERSION = 17, 8  # of 2022: what is older cannot compare numbers of double precision
_TINY, _TINY32 = float(np.finfo(np.float64).tiny), float(np.finfo(np.float32).tiny)
_FORMULAS: dict[str, Callable] = {}


def names() -> list[str]:
    """Return the names of the scores that can be exported."""
    return sorted(_FORMULAS)


def export_onnx(rejector: Rejector, path: str | os.PathLike) -> Path:
    """Write a rejector as an ONNX model.

    Parameters
    ----------
    rejector : Rejector
        Of one of the scores in `names`.
    path : path
        Where to; an existing file is replaced.

    Returns
    -------
    Path
        The file.  It takes ``logits`` (or ``probabilities``, if the rejector does), float32
        [N, K], and ``features``, float32 [N, D], where the score needs them; it gives ``score``,
        float64 [N], ``accepted``, bool [N], ``label``, int64 [N], and ``confidence``, float64 [N],
        the largest probability at the temperature that the audit found.  Its metadata say which
        score and threshold these are, the promise in words, and the names of the classes.

    Raises
    ------
    ValueError
        A score that is not among `names`; the package onnx is not installed.

    Notes
    -----
    Arrays of another width are refused by whatever runs the file.  Probabilities in the place of
    logits, which `Rejector.score_samples` refuses, are not seen.
    """
    onnx = import_onnx()
    name = rejector.score.info.name
    if name not in _FORMULAS:
        raise ValueError(
            f"score: '{name}' is not made of products, largest numbers and log-sum-exp alone, "
            f"which can be exported; audit with fewer arrays, so that one of these is chosen: "
            f"{', '.join(names())}"
        )
    graph = Graph(onnx)
    see = _Seen(graph, rejector)
    score = _FORMULAS[name](rejector.score, see)
    graph.output("score", score, "DOUBLE")
    graph.output("accepted", graph.node("GreaterOrEqual", score, rejector.threshold), "BOOL")
    graph.output("label", see.predicted, "INT64")
    answer = see.made.double() / float(rejector.provenance.get("temperature", 1.0))
    graph.output("confidence", answer.softmax().max(), "DOUBLE")
    helper = onnx.helper
    made = helper.make_model(
        helper.make_graph(graph.nodes, "rejector", graph.inputs, graph.outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="known-unknowns",
        producer_version=__version__,
    )
    facts = {
        "score": name,
        "threshold": repr(float(rejector.threshold)),
        "given": rejector.given,
        "promise": rejector.provenance.get("promise", ""),
        "class_names": json.dumps(rejector.provenance.get("class_names", []), ensure_ascii=False),
    }
    helper.set_model_props(made, facts)
    onnx.checker.check_model(made)
    with atomic_path(path) as temporary:
        temporary.write_bytes(made.SerializeToString())
    return Path(path)


class _Seen:
    """What a score sees of an image, made when it is first asked for."""

    def __init__(self, graph: Graph, rejector: Rejector):
        self.graph, self.classes, self.width = graph, rejector.classes, rejector.width
        self.needs_features = "features" in rejector.score.info.needs
        self.made = graph.input(rejector.given, rejector.classes)
        if rejector.given == "probabilities":
            logs = self.made.double().at_least(_TINY32).apply("Log")
            self.made = graph.node("Cast", logs, to=graph.onnx.TensorProto.FLOAT)
        self.single = self.made
        if rejector.temperature is not None:  # in single precision, as NumPy does
            value = graph.onnx.numpy_helper.from_array(np.float32([rejector.temperature]), "heat")
            graph.constants.append(value)
            self.single = self.made / Value(graph, "heat")
        if self.needs_features:
            self.features = graph.input("features", rejector.width).double()

    @cached_property
    def logits(self) -> Value:
        return self.single.double()

    @cached_property
    def probabilities(self) -> Value:
        return self.logits.softmax()

    @cached_property
    def predicted(self) -> Value:
        return self.made.argmax()

    def rows(self, table: np.ndarray, places: Value) -> Value:
        return self.graph.node("Gather", table, places, axis=0)


def _formula(*names: str):
    def kept(function):
        _FORMULAS.update(dict.fromkeys(names, function))
        return function

    return kept


@_formula("msp")
def _msp(score, see):
    return see.probabilities.max()


@_formula("max_logit")
def _max_logit(score, see):
    return see.logits.max()


@_formula("energy")
def _energy(score, see):
    return see.logits.log_sum_exp()


@_formula("entropy")
def _entropy(score, see):
    return (see.probabilities * see.probabilities.at_least(_TINY).apply("Log")).sum()


@_formula("gap")
def _gap(score, see):
    first = see.probabilities.largest(2)
    return first.column(0) - first.column(1)


@_formula("gen")
def _gen(score, see):
    ordered = see.probabilities.largest(see.classes)
    others = ordered.columns(1, see.classes)
    # of the largest one the complement is the sum of the others, which keeps its digits
    terms = see.graph.node(
        "Concat", ordered.columns(0, 1) * others.sum(keep=True), others * (1.0 - others), axis=1
    )
    return -see.graph.node("Pow", terms.columns(0, score.top), score.gamma).sum()


@_formula("gradnorm")
def _gradnorm(score, see):
    gaps = see.probabilities - 1 / see.classes
    return see.features.apply("Abs").sum() * gaps.apply("Abs").sum()


@_formula("kl_matching")
def _kl_matching(score, see):
    rows, factors, offsets = score.log_templates.exact
    nearest = (see.probabilities @ rows.T) * factors + offsets
    return nearest.max() - _entropy(score, see)


def _shaped(score, see):
    """Return the smallest of an image's largest features, and the factor for all of these."""
    first = min(round(see.width * score.percentile / 100), see.width - 1)
    ordered = see.features.largest(see.width - first)
    largest = ordered.at_least(0.0).sum(keep=True)
    total = see.features.at_least(0.0).sum(keep=True)
    filled = see.graph.node("Greater", largest, 0.0)
    ratio = filled.where(total, 1.0) / filled.where(largest, 1.0)
    return ordered.column(see.width - first - 1).as_column(), ratio.apply("Exp")


@_formula("ash")
def _ash(score, see):
    smallest, factor = _shaped(score, see)
    kept = (see.features < smallest).where(0.0, see.features)
    return (factor * (kept @ score.head.weight.T) + score.head.bias).log_sum_exp()


@_formula("scale")
def _scale(score, see):
    _, factor = _shaped(score, see)
    bias = see.graph.onnx.numpy_helper.from_array(np.float32(score.bias), "bias")
    see.graph.constants.append(bias)
    above = (see.single - Value(see.graph, "bias")).double()  # in single precision, as NumPy does
    return (factor * above + score.bias).log_sum_exp()


@_formula("react")
def _react(score, see):
    clipped = see.features.at_most(score.threshold)
    return (clipped @ score.head.weight.T + score.head.bias).log_sum_exp()


@_formula("vra")
def _vra(score, see):
    low, high = score.thresholds
    kept = (see.features < low).where(0.0, see.features.at_most(high))
    return (kept @ score.head.weight.T + score.head.bias).log_sum_exp()


@_formula("dice")
def _dice(score, see):
    return (see.features @ score.weight + score.bias).log_sum_exp()


@_formula("vim")
def _vim(score, see):
    residual = ((see.features - score.origin) @ score.residual).length().sum()
    return see.logits.log_sum_exp() - residual * float(score.alpha)


@_formula("fdbd")
def _fdbd(score, see):
    ahead = see.logits.max(keep=True) - see.logits
    distances = (ahead / see.rows(score.normals, see.logits.argmax())).sum() / (see.classes - 1.0)
    spread = (see.features - score.mean).length().sum()
    return distances / spread.at_least(_TINY32)


@_formula("nci")
def _nci(score, see):
    centred = see.features - score.mean
    weight = see.rows(see.graph.constant(score.weight), see.logits.argmax())
    length = centred.length().sum().at_least(_TINY32)
    return (centred * weight).sum() / length + see.features.apply("Abs").sum() * score.alpha


@_formula("she")
def _she(score, see):
    kept = see.graph.node("Gather", see.logits, np.asarray(score.kept), axis=1)
    return (see.features * see.rows(score.patterns, kept.argmax())).sum()


def _guided(see, bank):
    rows, factors, offsets = bank.exact
    turned = see.graph.node("Transpose", see.graph.constant(np.asarray(rows)), perm=[1, 0])
    return (see.features.unit() @ turned) * factors + offsets


@_formula("knn")
def _knn(score, see):
    nearest = _guided(see, score.compared).largest(score.k).column(score.k - 1)
    filled = see.graph.node("Greater", see.features.apply("Abs").max(), 0.0)
    squares = filled.where(1.0, 0.0) - nearest * 2.0
    return -squares.at_least(0.0).apply("Sqrt")


@_formula("nnguide")
def _nnguide(score, see):
    guidance = _guided(see, score.guides).largest(score.k).sum() / float(score.k)
    return guidance * see.logits.log_sum_exp()


@_formula("relation")
def _relation(score, see):
    rows = see.graph.constant(np.asarray(score.features)) / score.norms[:, None]
    turned = see.graph.node("Transpose", rows, perm=[1, 0])
    relations = (see.features.unit() @ turned).at_least(0.0)
    relations = relations * (see.probabilities @ softmax(score.logits).T)
    kept = see.graph.node("Greater", relations, relation._LEAST).where(relations, 0.0)
    return (kept if score.power == 1 else see.graph.node("Pow", kept, score.power)).sum()


def _squared_distances(gaussians, rows):
    means = gaussians.means - gaussians.means[0]
    points = rows @ gaussians.whitening - gaussians.means[0]
    squares = (points * points).sum(keep=True) + (means**2).sum(axis=1)
    return (squares - (points @ means.T) * 2.0).at_least(0.0)


def _rows(score, see):
    return see.features.unit() if score.normalised else see.features


@_formula("mahalanobis", "mahalanobis_pp")
def _mahalanobis(score, see):
    return -_squared_distances(score.gaussians, _rows(score, see)).min()


@_formula("rmds", "rmds_pp")
def _rmds(score, see):
    rows = _rows(score, see)
    nearest = _squared_distances(score.classes, rows).min()
    return _squared_distances(score.background, rows).sum() - nearest

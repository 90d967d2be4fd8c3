"""Outputs of an artificial model, as a file would hold them."""

import numpy as np
import pytest

from known_unknowns.auditing import read_outputs
from known_unknowns.auditing.command import main
from tests.mistakes import beside

MISTAKES = beside(__file__, "mistakes.yaml")


def pytest_generate_tests(metafunc):
    """Run a test for each row of the section of mistakes.yaml that is one of its arguments."""
    for kind in MISTAKES.keys() & {*metafunc.fixturenames}:
        rows = [(row, message) for message, row in MISTAKES[kind].items()]
        metafunc.parametrize((kind, "message"), rows, ids=MISTAKES[kind])


def made(n, classes=4, *, known=True, seed=0, width=6):
    """Return logits, features and labels: each class has its own direction, OOD images none."""
    generator = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    features = generator.normal(size=(n, width))
    features[np.arange(n), labels] += 3.0 * known
    return features[:, :classes] * 1.5, features, labels


def watch(*words):
    """Watch by the rejector of a test, and return the exit status."""
    return main(["watch", "r.safetensors", *words])


@pytest.fixture
def arrays():
    """Every array of a file, consistent."""
    logits, features, labels = made(300)
    train = made(200, seed=1)
    unknown = made(120, known=False, seed=2)
    production = [np.concatenate(pair) for pair in zip(made(50, seed=3), unknown, strict=True)]
    return {
        "logits": logits,
        "features": features,
        "labels": labels,
        "train_logits": train[0],
        "train_features": train[1],
        "train_labels": train[2],
        "ood_pets_and_toys_logits": unknown[0],
        "ood_pets_and_toys_features": unknown[1],
        "production_logits": production[0],
        "production_features": production[1],
        "head_weight": 1.5 * np.eye(4, 6),
        "head_bias": np.zeros(4),
        "class_names": np.array(["ant", "bee", "cow", "dog"]),
        "files": np.array([f"{i}.png" for i in range(300)]),
    }


@pytest.fixture
def without_figures(monkeypatch):
    """Reports have no figures; other tests draw the figures of reports."""
    monkeypatch.setattr("known_unknowns.auditing.figures.draw_report", lambda *_: {})


@pytest.fixture
def write(tmp_path):
    """Return a function that writes arrays to a file and returns its path."""

    def written(arrays):
        np.savez(tmp_path / "outputs.npz", **arrays)
        return tmp_path / "outputs.npz"

    return written


@pytest.fixture
def inputs(arrays, write):
    """Inputs of an audit of the complete file."""
    return read_outputs(write(arrays))

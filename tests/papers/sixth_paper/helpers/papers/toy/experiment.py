import numpy as np

from helpers import data, metrics
from helpers.papers.run import Part
from helpers.tables import results


def parts(parameters):
    shared = {"data_set": parameters.data_set, "backbone": "resnet8"}
    return [Part(f"run {run}", shared | {"run": run}, roles="") for run in range(parameters.runs)]


def roles(parameters, part):
    return {"test": data.load(parameters.data_set, "test")}


def models(parameters, part, roles):
    return {"a": 0.75, "b": 0.75 + parameters.gain}


def outputs(parameters, part, roles, models):
    images = np.arange(len(roles["test"])) / len(roles["test"])
    return {method: images < share for method, share in models.items()}


def rows(parameters, part, outputs, draw):
    for method, correct in outputs.items():
        drawn = metrics.weighted_mean(correct, draw("test", len(correct)))
        yield results.row("test", "accuracy", correct.mean(), len(correct), drawn, method=method)

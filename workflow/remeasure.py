"""Compute the rows of one measure again, from the committed networks; nothing is trained.

python workflow/remeasure.py small jacobian

*What classifiers know what they don't?* chooses among several trials, and only the chosen networks
are committed.  This script replaces the rows of a measure for these networks in the committed
table, for instance after a change of `jacobian_images`.  Rows of other networks stay as they are.
RND has the network of ERM and a student, which only the measure Native uses.
After an interruption, start the script again: outputs and scores are in the cache.
"""

import argparse
import os
from collections.abc import Iterator

import pandas as pd
from step import ROOT

from helpers.networks.recipe import Recipe
from helpers.papers import run
from helpers.papers.uimnet import experiment, trials
from helpers.papers.uimnet.parameters import Parameters
from helpers.tables import results
from helpers.training import finished_networks
from helpers.training.fitted import fit

PAPER = "uimnet"


def main() -> None:
    """Replace the rows of a measure in the committed table of a tier."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tier")
    parser.add_argument("measure")
    arguments = parser.parse_args()
    path = ROOT / "results" / arguments.tier / f"{PAPER}.parquet"
    try:
        table = results.read(path)
        parameters = Parameters.at_tier(PAPER, arguments.tier, measures=[arguments.measure])
    except (ValueError, OSError) as error:
        parser.error(str(error))
    results.write(replaced(table, pd.concat(list(tables(parameters)))), path)
    print(path)


def replaced(table: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table with these rows in the places of the rows of the same names.

    >>> old = pd.DataFrame({"row": ["a", "b"], "value": [0.1, 0.2]})
    >>> replaced(old, pd.DataFrame({"row": ["b"], "value": [0.3]}))["value"].tolist()
    [0.1, 0.3]
    """
    new = rows.set_index("row")
    if unknown := [name for name in new.index if name not in set(table["row"])]:
        raise ValueError(f"The table has no rows {', '.join(unknown)} to replace")
    others = table[~table["row"].isin(new.index)].set_index("row")
    return pd.concat([others, new]).loc[table["row"]].reset_index()[table.columns]


def tables(parameters: Parameters) -> Iterator[pd.DataFrame]:
    """Yield the rows of the measure for each committed network; print what is done."""
    folder = ROOT / "results" / parameters.tier / "networks" / PAPER
    splits = experiment.roles(parameters)
    for part in experiment.parts(parameters):
        network, name, form = part.name.rsplit("/", 2)
        algorithm = trials.algorithm_of(parameters, network, name, form)
        shared = "erm" if name == "rnd" else name
        for seed, split in splits.items():
            file = folder / f"{network}-{shared}-{form}-{seed}.safetensors"
            if file.exists():
                _, about = finished_networks.load(file)
                recipe = Recipe.from_parameters(about["recipe"])
                fitted = fit(split.train, recipe, seed=about["origin"]["seed"])
                outputs = experiment.ask(algorithm, [trials.Trial(0, recipe, fitted)], split)
                yield rows(parameters, part, seed, outputs)
                print(part.name, seed, flush=True)


def rows(
    parameters: Parameters, part: run.Part, seed: int, outputs: experiment.DomainOutputs
) -> pd.DataFrame:
    """Return the rows of the measure for one network, with their provenance."""
    (fitted,) = outputs.model.networks
    (measure,) = parameters.measures
    identity = {"tier": parameters.tier, "paper": PAPER, "run": seed, **part.identity}
    content: dict = {"part": part.name, "identity": identity, "parameters": parameters.decisive()}
    content |= {"roles": run.digests(outputs.split), "models": run.digests(fitted)}
    computed = experiment.measure(parameters, outputs, run.draws(parameters))
    records = [identity | row for row in computed if row["method"].endswith(f"/{measure}")]
    if not records:  # the algorithm lacks the measure
        return pd.DataFrame()
    origin = results.provenance(
        content, seed=parameters.seed, device=fitted.device_name, seconds=fitted.seconds
    )
    return results.tidy(records, origin)


if __name__ == "__main__":
    os.environ["TRAINING"] = "refused"
    main()

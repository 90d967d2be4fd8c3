"""Store every verdict, effect, headline and sample report, and compare them after a move.

    python -m tests.frozen store FOLDER [RUNS]
    python -m tests.frozen compare FOLDER

FOLDER is outside the repository; `frozen.sha256` next to this file has the hash of each file.
RUNS is a folder of the executed tier ``mini``; its results tables are stored, too.
This is a tool for the move of modules to other packages, and leaves the repository with its end.
"""

import difflib
import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.papers import PAPERS, TIERS, load
from helpers.tables import results
from known_unknowns.auditing import audit, read_outputs
from synthesis import front, openings, readme
from synthesis.across import tables as across
from synthesis.claims import load_claims
from synthesis.counterparts import counterparts
from synthesis.ledger import ledger, published_checks, read
from synthesis.verdicts import Claims
from synthesis.without_labels.summary import by_share
from tests.known_unknowns.auditing import conftest

ROOT = Path(__file__).resolve().parent.parent
HASHES = Path(__file__).with_suffix(".sha256")
MINI = "mini"  # of a folder of FOLDER: the results tables of the smallest tier


def judgement(folder: Path) -> dict[str, str]:
    """Return ledger, effects and verdicts of all committed tables, and of the frozen mini rows."""
    effects = []
    sentences = []
    check = Claims.check

    def recorded(claims: Claims, table: pd.DataFrame, **given) -> pd.DataFrame:
        checks = check(claims, table, **given)
        names = {"paper": claims.paper, "tier": "".join(table["tier"].unique())}
        effects.append(checks.assign(**names))
        sentences.append(claims.verdicts(checks).assign(**names))
        return checks

    tables = read(PAPERS, folder / MINI, TIERS)
    Claims.check = recorded
    try:
        rows = ledger(PAPERS, tables, TIERS)
    finally:
        Claims.check = check
    printed = {paper: published_checks(load_claims(paper)) for paper in openings.TITLES}
    effects += [each.assign(paper=paper) for paper, each in printed.items() if each is not None]
    verdicts = pd.concat(sentences)
    prose = ["text", "check", "sentence", "source"]
    return {
        "ledger.csv": as_csv(rows),
        "effects.csv": as_csv(pd.concat(effects)),
        "verdicts.csv": as_csv(verdicts.drop(columns=prose)),
        "sentences.csv": as_csv(verdicts[["tier", "paper", "claim", *prose]]),
        "printed.csv": as_csv(counterparts(PAPERS, tables)),
    }


def headlines(folder: Path) -> dict[str, str]:
    """Return the tables of README, front page and overview pages."""
    judged, tables = openings.judge("results", MINI)
    with tempfile.TemporaryDirectory() as pictures:
        texts = openings.write(judged, tables, Path(pictures))
    texts |= front.parts() | {"readme": readme.block(), "results": readme.details()}
    texts |= {"claims": across.headline().markdown()}
    for paper in openings.TITLES:
        file = folder / MINI / paper / "results.parquet"
        if file.exists():
            table = PAPERS[paper].tables.main_table(results.read(file), load(paper, MINI))
            texts[f"{paper}_{MINI}"] = f"{table.caption}\n\n{table.markdown()}"
    if (folder / MINI / "synthesis").exists():
        table = results.read(folder / MINI / "synthesis" / "results.parquet")
        for backbone, rows in table.query("variant == 'primary'").groupby("backbone"):
            among = across.rankable(rows)[0]
            texts[f"agreement_{backbone}"] = as_csv(across.agreement(rows, among=among))
            texts[f"cells_{backbone}"] = as_csv(across.cells(rows).reset_index())
    unlabelled = results.read(ROOT / "results" / "pretrained" / "without_labels.parquet")
    texts["by_share"] = as_csv(by_share(unlabelled).reset_index())
    return {f"headline_{name}.md": text for name, text in texts.items()}


def samples() -> dict[str, str]:
    """Return `audit.json` of three files: all arrays, logits with groups, and probabilities."""
    logits, features, labels = conftest.made(300)
    train = conftest.made(200, seed=1)
    unknown = conftest.made(120, known=False, seed=2)
    plain = {"logits": logits, "labels": labels, "ood_pets_logits": unknown[0]}
    grouped = {"groups": np.arange(300) // 2, "strata": np.arange(300) % 3 // 2}
    mixed = [np.concatenate(pair) for pair in zip(conftest.made(50, seed=3), unknown, strict=True)]
    rest = {
        "features": features,
        "ood_pets_features": unknown[1],
        "train_logits": train[0],
        "train_features": train[1],
        "train_labels": train[2],
        "production_logits": mixed[0],
        "production_features": mixed[1],
        "head_weight": 1.5 * np.eye(4, 6),
        "head_bias": np.zeros(4),
    }
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    files = {
        "all": (plain | rest, {"risk": 0.2}),
        "grouped": (plain | grouped, {"risk": 0.3, "unknown_share": 0.1}),
        "probabilities": ({"probabilities": probabilities, "labels": labels}, {"risk": 0.2}),
    }
    texts = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (arrays, wishes) in files.items():
            np.savez(Path(folder) / f"{name}.npz", **arrays)
            audited = audit(read_outputs(Path(folder) / f"{name}.npz"), replicates=50, **wishes)
            # without the file's path, and rounded
            content = audited.as_dict() | {"file": "", "sha256": ""}
            content = json.loads(json.dumps(content), parse_float=lambda text: f"{float(text):.6g}")
            text = json.dumps(content, indent=1, ensure_ascii=False)
            texts[f"audit_{name}.json"] = text.replace(folder, "FOLDER")
    return texts


def as_csv(rows: pd.DataFrame) -> str:
    """Return rows as text, with six digits."""
    return rows.to_csv(index=False, float_format="%.6g")


def everything(folder: Path) -> dict[str, str]:
    """Return every frozen text, by the name of its file."""
    return judgement(folder) | headlines(folder) | samples()


def hashes(folder: Path) -> str:
    """Return a line with the hash of each file of a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}"
        for path in files
    )
    return "\n".join([*lines, ""])


def store(folder: Path, runs: Path | None) -> None:
    """Write all texts into a folder, and the hashes into the repository."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in sorted(runs.glob("*/results.parquet")) if runs else ():
        (folder / MINI / file.parent.name).mkdir(parents=True)
        shutil.copy(file, folder / MINI / file.parent.name)
    for name, text in everything(folder).items():
        (folder / name).write_text(text, encoding="utf-8")
    HASHES.write_text(hashes(folder), encoding="utf-8")
    print(f"{folder}: {len(HASHES.read_text().splitlines())} files")


def compare(folder: Path) -> None:
    """Compare all texts with the files of the folder, and exit with the differences."""
    if hashes(folder) != HASHES.read_text(encoding="utf-8"):
        sys.exit(f"{folder}: its files differ from the hashes in {HASHES.name}")
    lines = []
    for name, text in everything(folder).items():
        before = (folder / name).read_text(encoding="utf-8")
        if text != before:
            pair = before.splitlines(), text.splitlines()
            lines += [f"{name} differs", *[*difflib.unified_diff(*pair, n=0, lineterm="")][:20]]
    if lines:
        sys.exit("\n".join(lines))
    print("all frozen tables are equal")


if __name__ == "__main__":
    command, folder, *rest = sys.argv[1:]
    if command == "store":
        store(Path(folder), Path(rest[0]) if rest else None)
    else:
        compare(Path(folder))

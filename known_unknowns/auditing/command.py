"""The command ``known-unknowns``: audits a file of outputs, judges new ones, and ranks a score.

    known-unknowns demo
    known-unknowns audit outputs.npz --risk 0.05
    known-unknowns audit --model model.onnx --validation photos/val --ood photos/paintings
    known-unknowns compare old.npz new.npz
    known-unknowns accept outputs_audit/rejector.safetensors new.npz
    known-unknowns export outputs_audit/rejector.safetensors
    known-unknowns bench my_score.py

Nothing is imported before it is needed, so that the first word comes at once.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from known_unknowns.auditing.report import Audit

HOLDS, FAILS, REFUSED, STOPPED = 0, 1, 2, 130
"""How it ends: all requirements hold, one does not, wrong usage or input, and Ctrl-C."""

DEMO = "known_unknowns_demo"
"""The folder that the demo writes."""

_FILE = """FILE: .npz, as numpy.savez(file, logits=..., labels=...) writes, with what else there is
of features, head_weight, head_bias, train_logits, train_labels, train_features, ood_NAME_logits,
ood_NAME_features, production_logits, production_features, class_names, files, groups and strata;
or a table, .csv or .parquet, with columns logit_0 ..., feature_0 ..., label, set, file, group and
stratum.
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(REFUSED, f"{self.prog}: {message}; --help says more\n")


def main(command_line: list[str] | None = None) -> int:
    """Do what the command line says, and return how it ended.

    What is wrong with the usage or the input is one line on the standard error.
    """
    given = _parser().parse_args(command_line)
    name = " ".join(filter(None, ("known-unknowns", given.command)))
    gc.set_threshold(100_000)  # what is made lives to the end: looking for cycles is in vain
    try:
        return given.action(given)
    except BrokenPipeError:  # who reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return HOLDS
    except (OSError, ValueError) as error:
        line = " ".join(str(error).split()).replace("treat_as=", "--treat-as ")
        print(f"{name}: {line}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print(f"{name}: stopped, nothing is written", file=sys.stderr)
        return STOPPED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="known-unknowns", description="Know what a classifier does not know.")
    parser.add_argument("--version", action="store_true", help="say which version this is")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    parser.set_defaults(action=_version)

    one = commands.add_parser(
        "demo",
        help="audit a published network whose outputs come with the package",
        description=f"Audit a published network; write the report to {DEMO}.",
    )
    one.set_defaults(action=_demo)

    one = commands.add_parser(
        "audit",
        help="from the outputs of a classifier to a report, audit.json and a rejector",
        description="Say how right and how sure a classifier is, and which answers to accept.",
        epilog=_FILE + "\nExit status: 0, 1 if a requirement does not hold, 2 if something is "
        "wrong with the usage or the file.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.set_defaults(action=_audit)
    one.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="outputs of the classifier, see below"
    )
    _add_model(one)
    wish = one.add_mutually_exclusive_group()
    wish.add_argument(
        "--risk", type=float, metavar="SHARE",
        help="accept as many answers as may be with at most this share wrong (default: 0.05)",
    )  # fmt: skip
    wish.add_argument(
        "--coverage", type=float, metavar="SHARE",
        help="or accept at least this share of the images like those in FILE",
    )  # fmt: skip
    one.add_argument(
        "--confidence", type=float, default=0.95, metavar="SHARE",
        help="with which the risk is promised (default: 0.95)",
    )  # fmt: skip
    one.add_argument(
        "--share", type=float, default=0.0, metavar="SHARE",
        help="of images of unknown classes, like the sets in FILE, up to which the promise of a "
        "risk is to hold (default: 0, ID images alone)",
    )  # fmt: skip
    one.add_argument(
        "--sets", type=float, metavar="SHARE",
        help="also find answers of several classes, the true one among them with at least this "
        "probability",
    )  # fmt: skip
    one.add_argument(
        "--treat-as", choices=("logits", "probabilities"), default="logits",
        help="what the arrays of logits hold (default: logits)",
    )  # fmt: skip
    one.add_argument(
        "--require", action="append", default=[], metavar='"NAME>=NUMBER"',
        help='what has to hold, as in "accuracy>=0.9" or "auroc:pets>=0.8", of the whole 95 %% '
        "interval; any number of times; names: accuracy, coverage, coverage_at_risk_0.05, risk, "
        "ece, ece_scaled, aurc, auroc, fpr95",
    )  # fmt: skip
    one.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="where to (default: the name of FILE or model, and _audit)",
    )
    one.add_argument("--force", action="store_true", help="replace the folder of an earlier audit")

    one = commands.add_parser(
        "compare",
        help="a new model with an old one, on the same images",
        description="Say what a new model does better and what worse, beyond noise.",
        epilog="Both files hold outputs of the same images in the same order, as for audit.\n"
        "Exit status: 0, 1 if anything is worse beyond noise, 2 if something is wrong with the "
        "usage or the files.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    one.set_defaults(action=_compare)
    one.add_argument("old", type=Path, metavar="OLD", help="outputs of the old model")
    one.add_argument("new", type=Path, metavar="NEW", help="outputs of the new model")
    one.add_argument(
        "--risk", type=float, default=0.05, metavar="SHARE",
        help="at which the share of answers that can be kept is compared (default: 0.05)",
    )  # fmt: skip
    one.add_argument(
        "--score", default="msp", metavar="NAME", help="by which answers are kept (default: msp)"
    )
    one.add_argument(
        "--treat-as", choices=("logits", "probabilities"), default="logits",
        help="what the arrays of logits hold (default: logits)",
    )  # fmt: skip
    one.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where to (default: NEW's name and _compare)"
    )
    one.add_argument("--force", action="store_true", help="replace the folder of an earlier one")

    one = commands.add_parser(
        "accept",
        help="judge new outputs with the rejector of an audit",
        description="Write accepted, label, confidence, score, p_value and reason as CSV.",
    )
    one.set_defaults(action=_accept)
    one.add_argument("rejector", type=Path, metavar="REJECTOR", help="rejector.safetensors")
    one.add_argument("file", type=Path, metavar="FILE", help="new outputs, in a file as for audit")
    one.add_argument("--out", type=Path, metavar="FILE.csv", help="where to (default: the screen)")

    one = commands.add_parser(
        "export",
        help="write the rejector of an audit as an ONNX file (extra onnx)",
        description="Write score, verdict, label and confidence of a rejector as an ONNX model.",
    )
    one.set_defaults(action=_export)
    one.add_argument("rejector", type=Path, metavar="REJECTOR", help="rejector.safetensors")
    one.add_argument(
        "--out", type=Path, metavar="FILE.onnx", help="where to (default: beside REJECTOR)"
    )
    one.add_argument("--force", action="store_true", help="replace a file that is there")

    one = commands.add_parser(
        "bench",
        help="rank a score of your own among all others, on features of published networks",
        description="Rank the scores that a Python file registers (which is executed) among all "
        "others, on stored features of published networks.",
    )
    one.set_defaults(action=_bench)
    one.add_argument("file", type=Path, metavar="FILE.py", help="registers a score")
    one.add_argument(
        "--packs",
        type=Path,
        metavar="FOLDER",
        help="feature packs (default: those that come along)",
    )
    one.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where to (default: FILE's name and _bench)"
    )
    one.add_argument("--force", action="store_true", help="replace the folder of an earlier one")
    return parser


def _add_model(one: argparse.ArgumentParser) -> None:
    """Add what takes the place of a file of outputs: a model and folders of images."""
    group = one.add_argument_group("or a model and folders of images, in place of FILE")
    group.add_argument(
        "--model", metavar="MODEL",
        help="an ONNX file (extra onnx), or the name of a network of timm (extra torch)",
    )  # fmt: skip
    group.add_argument(
        "--validation", metavar="DIR", help="with a folder for each class; not learnt from"
    )
    group.add_argument("--train", metavar="DIR", help="likewise, of training images")
    group.add_argument(
        "--ood", action="append", default=[], metavar="DIR",
        help="images of unknown classes; any number of times",
    )  # fmt: skip
    group.add_argument("--production", metavar="DIR", help="unlabelled images")
    group.add_argument(
        "--classes", type=Path, metavar="FILE.txt",
        help="names of the classes in the model's order, a line each (default: those of DIR, "
        "sorted)",
    )  # fmt: skip
    group.add_argument(
        "--pixels", choices=("imagenet", "unit", "symmetric", "bytes"), default="imagenet",
        help="what an ONNX model takes: ImageNet's mean and spread (default), 0 to 1, -1 to 1, or "
        "0 to 255",
    )  # fmt: skip
    group.add_argument(
        "--size", type=int, metavar="PIXELS", help="of its images, if the ONNX file leaves it open"
    )
    group.add_argument(
        "--download", action="store_true", help="fetch the weights of a network of timm"
    )


def _gathered(given: argparse.Namespace, tell: Callable[[str], object]):
    """Return what is audited, from a file or from a model and folders.

    Raises
    ------
    ValueError
        Both, or neither; as what reads them.
    """
    if (given.file is None) == (given.model is None):
        raise ValueError("FILE, or --model and --validation, expected; --help says more")
    if given.model is None:
        from known_unknowns.auditing.inputs import read_outputs

        return read_outputs(given.file, treat_as=given.treat_as)
    if not given.validation:
        raise ValueError("--validation: a folder with a subfolder for each class expected")
    names = given.classes.read_text(encoding="utf-8").splitlines() if given.classes else ()
    names = tuple(line.strip() for line in names if line.strip())
    if Path(given.model).suffix == ".onnx":
        from known_unknowns.auditing.onnx_model import open_model, show_folders

        return show_folders(
            open_model(given.model, size=given.size), given.validation, train=given.train,
            ood=given.ood, production=given.production, class_names=names, pixels=given.pixels,
            tell=tell,
        )  # fmt: skip
    roles = {name: getattr(given, name) for name in ("train", "production")}
    try:
        from known_unknowns.auditing.folders import images_of
        from known_unknowns.auditing.networks import open_network, show_images

        return show_images(
            open_network(given.model, download=given.download),
            images_of(given.validation),
            ood=list(map(images_of, given.ood)),
            class_names=names,
            **{name: images_of(where) for name, where in roles.items() if where},
        )
    except ImportError as error:
        raise ValueError(f"{error}; pip install '.[torch]' in the repository") from error


def _version(given: argparse.Namespace) -> int:
    from helpers import __version__

    if not given.version:
        raise ValueError(
            "a command expected: demo, audit, compare, accept, export or bench; begin with "
            "`known-unknowns demo`, or see --help"
        )
    print(f"known-unknowns {__version__}")
    return HOLDS


def _teller() -> Callable[[str], None]:
    """Return what prints a line with the seconds since now."""
    began = time.perf_counter()
    return lambda line: print(f"{time.perf_counter() - began:6.1f} s  {line}", flush=True)


def _audit(given: argparse.Namespace) -> int:
    tell = _teller()
    tell(f"reads {given.file or given.model}")
    from helpers.files import check_free
    from known_unknowns.auditing import gates
    from known_unknowns.auditing.report import WRITTEN

    out = given.out or Path(f"{Path(given.file or given.model or 'model').stem}_audit")
    replaces = WRITTEN if given.force else None
    check_free(out, replaces)  # nobody is to wait for a refusal
    for one in given.require:
        gates.read_requirement(one)

    from known_unknowns.auditing import audit

    inputs = _gathered(given, tell)
    wishes = {name: getattr(given, name) for name in ("risk", "coverage")}
    wishes = {name: value for name, value in wishes.items() if value is not None}
    found = audit(
        inputs, wish=next(iter(wishes), "risk"), **wishes, confidence=given.confidence,
        unknown_share=given.share, sets=given.sets, require=given.require, tell=tell,
    )  # fmt: skip
    _report(found, out, replaces, tell)
    for one in found.requirements:
        how = "holds" if one.holds else "DOES NOT HOLD"
        print(f"{one.requirement}: {how}, {one.value:.4g} ({one.low:.4g} to {one.high:.4g})")
    return HOLDS if all(one.holds for one in found.requirements) else FAILS


def _report(
    found: Audit, out: Path, replaces: Collection[str] | None, tell: Callable[[str], object]
) -> None:
    """Write what an audit leaves; print what speaks against the images, the summary, and paths."""
    from helpers.files import atomic_folder
    from known_unknowns.auditing.summary import summary

    tell("writes the report")
    with atomic_folder(out, replaces=replaces) as folder:
        written = found.save(folder)
    tell("is done")
    doubts = [f"First of all: {one}" for one in found.doubts]
    print("", *doubts, *summary(found), "", *(out / one.name for one in written), sep="\n")


def _demo(given: argparse.Namespace) -> int:
    from helpers.files import check_free
    from known_unknowns.auditing.demo import open_demo
    from known_unknowns.auditing.report import WRITTEN

    check_free(Path(DEMO), WRITTEN)
    inputs, told = open_demo()
    print(told, flush=True)
    from known_unknowns.auditing import audit

    _report(audit(inputs), Path(DEMO), WRITTEN, tell=lambda line: None)
    print(
        "\nNext, your own model. Save its outputs in Python, and audit the file:\n"
        '    np.savez("my_outputs.npz", logits=logits, labels=labels)\n'
        "    known-unknowns audit my_outputs.npz"
    )
    return HOLDS


def _compare(given: argparse.Namespace) -> int:
    tell = _teller()
    tell(f"reads {given.old} and {given.new}")
    from helpers.files import atomic_folder, check_free
    from known_unknowns.auditing.comparison import COMPARED, compare
    from known_unknowns.auditing.inputs import read_outputs

    out = given.out or Path(f"{given.new.stem}_compare")
    replaces = COMPARED if given.force else None
    check_free(out, replaces)
    old, new = (read_outputs(one, treat_as=given.treat_as) for one in (given.old, given.new))
    found = compare(old, new, score=given.score, risk=given.risk)
    with atomic_folder(out, replaces=replaces) as folder:
        written = found.save(folder)
    tell("is done")
    print("", *found.sentences(), "", *(out / one.name for one in written), sep="\n")
    return FAILS if found.worse else HOLDS


def _accept(given: argparse.Namespace) -> int:
    from helpers.checkpoints import is_checkpoint
    from helpers.files import atomic_path
    from known_unknowns.auditing.inputs import read_new
    from known_unknowns.auditing.rejector import Rejector

    if given.rejector.exists() and not is_checkpoint(given.rejector):
        raise ValueError(
            f"{given.rejector} is no rejector; expected: accept REJECTOR OUTPUTS"
            + ("; the two files look swapped" if is_checkpoint(given.file) else "")
        )
    rejector = Rejector.load(given.rejector)
    logits, features, files = read_new(given.file)
    judged = rejector.judge(logits, features)
    judged.insert(0, "image", files)
    if given.out is None:
        judged.to_csv(sys.stdout, index=False)
        sys.stdout.flush()
        return HOLDS
    with atomic_path(given.out) as temporary:
        judged.to_csv(temporary, index=False)
    print(f"{given.out}: {int(judged['accepted'].sum())} of {len(judged)} images are accepted")
    return HOLDS


def _export(given: argparse.Namespace) -> int:
    out = given.out or given.rejector.with_suffix(".onnx")
    if out.exists() and not given.force:
        raise FileExistsError(f"{out} is there already; name another file, or replace it (--force)")
    from known_unknowns.auditing.export import export_onnx
    from known_unknowns.auditing.rejector import Rejector

    print(export_onnx(Rejector.load(given.rejector), out))
    return HOLDS


def _bench(given: argparse.Namespace) -> int:
    tell = _teller()
    tell(f"reads {given.file}")
    from helpers.files import atomic_folder, check_free
    from known_unknowns.bench import contest, entries_of, files_of, packs

    entries = entries_of(given.file)
    out = given.out or Path(f"{given.file.stem}_bench")
    replaces = files_of(entries) if given.force else None
    check_free(out, replaces)
    try:
        found = contest(entries, packs(given.packs), tell=tell)
    except AssertionError as error:  # the contract of a score is broken: all of that is wanted
        print(error, file=sys.stderr)
        return FAILS
    with atomic_folder(out, replaces=replaces) as folder:
        found.write(folder)
    tell("is done")
    said = [line for name in entries for line in found.sentences(name)]
    print("", *said, *found.rank_tests(), "", out / "index.html", sep="\n")
    return HOLDS

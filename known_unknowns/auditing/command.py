"""The command ``known-unknowns``: audit outputs, accept or watch new outputs, rank a score.

    known-unknowns demo
    known-unknowns audit outputs.npz --risk 0.05
    known-unknowns accept outputs_audit/rejector.safetensors new.npz
    known-unknowns watch outputs_audit/rejector.safetensors new.npz
    known-unknowns bench my_score.py

Modules are imported when they are needed, so that the first output appears at once.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import inspect
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from known_unknowns.auditing.auditing import Audit
    from known_unknowns.auditing.inputs import Inputs

#: Exit status: all requirements hold.
HOLDS = 0
#: Exit status: a requirement does not hold, or there is an alarm.
FAILS = 1
#: Exit status: wrong usage or input.
REFUSED = 2
#: Exit status: Ctrl-C.
STOPPED = 130

#: Characters that can change a terminal's text, and the text that we print instead.
_VISIBLE = {code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))}
# marks that reverse text, and halves of characters, which cannot be printed
_VISIBLE |= {
    code: f"\\u{code:04x}"
    for codes in (range(0x200E, 0x2010), range(0x2028, 0x202F), range(0x2066, 0x206A),
                  range(0xD800, 0xE000))
    for code in codes
}  # fmt: skip
#: The folder that the demo writes.
DEMO = "known_unknowns_demo"


class _Terminal:
    """A stream that shows control characters in names of files, sets and classes as text.

    If the reader closes the pipe, further text is dropped, and the command continues: its files and
    its exit status do not depend on the reader.
    """

    def __init__(self, stream):
        # the caller may have closed it
        self._stream = stream or open(os.devnull, "w")

    def write(self, text: str) -> int:
        with self._for_a_reader():
            self._stream.write(text.translate(_VISIBLE))
        return len(text)

    def flush(self) -> None:
        with self._for_a_reader():
            self._stream.flush()

    @contextlib.contextmanager
    def _for_a_reader(self):
        try:
            yield
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str):
        return getattr(self._stream, name)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(REFUSED, f"{self.prog}: {message}; see --help\n")


def main(command_line: list[str] | None = None) -> int:
    """Run a command, and return its exit status; an error is one line on standard error."""
    out = _Terminal(sys.stdout)
    err = _Terminal(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            return _run(command_line)
        finally:
            with contextlib.suppress(OSError):  # the disk is full, which a command has reported
                out.flush()


def _run(command_line: list[str] | None) -> int:
    """Run a command with the streams of `main`, and return its exit status."""
    words = sys.argv[1:] if command_line is None else command_line
    given = _parser().parse_args(words, argparse.Namespace(words=words))
    name = f"known-unknowns {given.command or ''}".rstrip()
    gc.set_threshold(100_000)  # objects are kept until the end: no cycles to collect
    if command_line is None:  # a request to end, as from a system that shuts down, is like Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = given.run(given)
        sys.stdout.flush()
        return status
    except (Exception, SystemExit) as error:  # for a scheduler, an error is no alarm
        line = " ".join(str(error).split()).replace("treat_as=", "--treat-as ")
        if not isinstance(error, OSError | SyntaxError | ValueError):
            line = f"{type(error).__name__}: {line}".rstrip(": ")
        print(f"{name}: {line}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print(f"{name}: stopped, nothing is written", file=sys.stderr)
        return STOPPED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="known-unknowns", description="Know what a classifier does not know.")
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.set_defaults(run=_version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, run, add_options, words in (
        ("demo", _demo, None, f"audit a published network of the package, into {DEMO}"),
        ("audit", _audit, _add_audit, "from outputs to a report, audit.json and a rejector"),
        ("accept", _accept, _add_accept, "judge new outputs with the rejector of an audit, as CSV"),
        (
            "watch",
            _watch,
            _add_watch,
            "count images unlike the validation images, or check answers, and raise an alarm",
        ),
        ("bench", _bench, _add_bench, "rank your score among all others, on published networks"),
    ):
        command = commands.add_parser(name, help=words)
        command.set_defaults(run=run)
        if add_options:
            add_options(command)
    return parser


def _add_audit(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = inspect.getdoc(_audit)
    add = parser.add_argument
    add("file", nargs="?", type=Path, help="outputs of the classifier, see below")
    share: dict[str, Any] = {"type": float, "metavar": "SHARE"}
    _add_target(parser, share)
    add(
        "--confidence",
        default=0.95,
        help="confidence of the guarantee of a risk (0.95)",
        **share,
    )
    add(
        "--share",
        default=0.0,
        help="largest share of unknown images for the guarantee of a risk (0)",
        **share,
    )
    add(
        "--fallback",
        choices=("smallest", "average"),
        default="",
        help="if the risk cannot be guaranteed, deploy the smallest that can, or this risk on "
        "average",
    )
    add(
        "--score",
        default="",
        help="a score that is fixed in advance, as msp (default: chosen, from 1,000 images on)",
    )
    add(
        "--require",
        action="append",
        default=[],
        help="a requirement; any number of times, see below",
    )
    add(
        "--labels",
        type=Path,
        metavar="TABLE",
        help="to_label.csv of an earlier audit of FILE, with labels filled in",
    )
    add(
        "--treat-as",
        choices=("logits", "probabilities"),
        default="logits",
        help="content of the arrays of logits",
    )
    _add_network(parser)
    _add_out(parser, "folder of the report (default: the file's name and the command's)")


def _add_target(parser: argparse.ArgumentParser, share: dict[str, Any]) -> None:
    target = parser.add_mutually_exclusive_group()
    target.add_argument(
        "--risk",
        help="keep as many answers as possible with at most this share wrong (0.05)",
        **share,
    )
    target.add_argument(
        "--coverage", help="or accept at least this share of images like those in FILE", **share
    )
    target.add_argument(
        "--reviews",
        metavar="R/N",
        help="or give at most R of N images to people, on average, as 200/2000",
    )
    target.add_argument(
        "--costs",
        nargs=2,
        type=float,
        metavar=("ERROR", "REVIEW"),
        help="or the lowest cost, if an accepted error costs ERROR and a review REVIEW",
    )


def _add_network(parser: argparse.ArgumentParser) -> None:
    network = parser.add_argument_group("or a network of timm and folders, instead of FILE")
    network.add_argument("--model", help="its name (extra torch)")
    network.add_argument("--validation", metavar="DIR", help="a folder for each class")
    network.add_argument("--train", metavar="DIR", help="training images, a folder for each class")
    network.add_argument(
        "--ood",
        metavar="DIR",
        action="append",
        default=[],
        help="images of unknown classes; any number of times",
    )
    network.add_argument("--production", metavar="DIR", help="unlabelled images")
    network.add_argument(
        "--classes", type=Path, help="names of the classes in the model's order, a line each"
    )
    network.add_argument("--download", action="store_true", help="download the weights")


def _add_accept(parser: argparse.ArgumentParser) -> None:
    _add_rejector(parser)
    parser.add_argument(
        "--check",
        type=int,
        metavar="N",
        default=0,
        help="draw N images at random, whose answers somebody checks in the column truth",
    )
    parser.add_argument(
        "--by-answer",
        action="store_true",
        help="use the separate threshold of each answer; answers without one are rejected",
    )
    _add_out(parser, "CSV file to write (default: the screen)")


def _add_watch(parser: argparse.ArgumentParser) -> None:
    _add_rejector(parser, "new outputs, or a table of accept --check that somebody has filled in")
    parser.add_argument(
        "--share",
        type=float,
        metavar="SHARE",
        default=0.02,
        help="largest share of unlike images without an alarm (0.02)",
    )
    parser.add_argument("--state", type=Path, help="file with the counts (REJECTOR.watch.json)")
    parser.add_argument(
        "--move-to",
        type=Path,
        metavar="REJECTOR",
        help="write a rejector with the smallest threshold that the checked answers certify",
    )
    parser.add_argument(
        "--acknowledge",
        action="store_true",
        help="the alarm is explained: begin a new count after FILE",
    )


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, help="a Python file that registers a score; it is executed"
    )
    parser.add_argument(
        "--packs", type=Path, help="a folder of feature packs (default: the package's packs)"
    )
    _add_out(parser, "folder of the tables (default: the file's name and the command's)")


def _add_rejector(
    parser: argparse.ArgumentParser, words: str = "new outputs, in a file as for audit"
) -> None:
    parser.add_argument("rejector", type=Path, help="rejector.safetensors")
    parser.add_argument("file", type=Path, help=words)


def _add_out(parser: argparse.ArgumentParser, words: str) -> None:
    parser.add_argument("--out", type=Path, help=words)
    parser.add_argument("--force", action="store_true", help="replace an earlier file or folder")


def _gathered(given: argparse.Namespace) -> Inputs:
    """Return the inputs of an audit from a file, or from a network and folders."""
    if (given.file is None) == (given.model is None):
        raise ValueError("FILE, or --model and --validation, expected; see --help")
    if given.model is not None:
        return _of_network(given)
    from known_unknowns.auditing.inputs import read_outputs

    if any((given.validation, given.train, given.ood, given.production, given.classes)):
        raise ValueError("a folder or --classes: only with --model; FILE has arrays for these")
    return read_outputs(given.file, treat_as=given.treat_as)


def _coverage_of(reviews: str) -> float:
    """Return the coverage that leaves this number of reviews.

    >>> _coverage_of("200/2000")
    0.9
    """
    left, _, images = reviews.partition("/")
    if not (left.isdecimal() and images.isdecimal() and 0 < int(left) < int(images)):
        raise ValueError(f"--reviews: R/N expected, as 200/2000, with R below N, got {reviews!r}")
    return 1 - int(left) / int(images)


def _check_labels(given: argparse.Namespace, folder: Path) -> None:
    """Refuse to replace labels that somebody has written, unless they are given."""
    from known_unknowns.auditing import labelling

    table = folder / labelling.TABLE
    used = given.labels is not None and given.labels.exists() and table.exists()
    if labelling.filled(table) and not (used and given.labels.samefile(table)):
        raise ValueError(
            f"--force: {table} has labels, which would be lost; add --labels {table}, or move it"
        )


def _of_network(given: argparse.Namespace) -> Inputs:
    """Return the inputs of an audit from a network and folders."""
    if given.model.endswith(".onnx"):
        raise ValueError(
            "--model: the name of a network of timm expected; the audit's page shows how "
            "onnxruntime writes the outputs of an ONNX file"
        )
    if not given.validation:
        raise ValueError("--validation: a folder with a subfolder for each class expected")
    names = []
    if given.classes is not None:
        lines = given.classes.read_text(encoding="utf-8-sig").splitlines()
        names = [line.strip() for line in lines if line.strip()]
    try:
        from known_unknowns.auditing.networks import inputs_of
    except ImportError as error:
        raise ValueError(f"{error}; pip install '.[torch]' in the repository") from error
    return inputs_of(
        given.model,
        given.validation,
        train=given.train,
        ood=given.ood,
        production=given.production,
        class_names=names,
        download=given.download,
    )


def _version(given: argparse.Namespace) -> int:
    from helpers import __version__

    if not given.version:
        raise ValueError(
            "a command expected: demo, audit, accept, watch or bench; begin with "
            "`known-unknowns demo`, or see --help"
        )
    print(f"known-unknowns {__version__}")
    return HOLDS


def _teller(line: str) -> Callable[[str], None]:
    """Print a line; return a function that prints more lines, with the seconds since now."""
    began = time.perf_counter()

    def tell(line: str) -> None:
        print(f"{time.perf_counter() - began:6.1f} s  {line}", flush=True)

    tell(line)
    return tell


def _check_place(out: Path) -> None:
    """Refuse a folder that cannot be written to, before the work begins."""
    parent = next(path for path in out.absolute().parents if path.exists())
    if not (parent.is_dir() and os.access(parent, os.W_OK)):
        raise ValueError(f"--out: {out} cannot be written in {parent}; name another place")


def _folder(given: argparse.Namespace, name: Path | str, files: Collection[str]) -> dict:
    """Return the folder to write, checked to be free, and the files that may be replaced."""
    from helpers.files import check_free

    out = given.out or Path(f"{Path(name).stem}_{given.command}")
    replaces = files if given.force else None
    check_free(out, replaces)
    _check_place(out)
    return {"path": out, "replaces": replaces}


def _written(write: Callable[[Path], list[Path]], folder: dict) -> list[Path]:
    """Write files to a folder that appears whole or not at all; return their paths."""
    from helpers.files import atomic_folder

    with atomic_folder(**folder) as temporary:
        return [folder["path"] / path.name for path in write(temporary)]


def _audit(given: argparse.Namespace) -> int:
    """Write the report of a file of outputs, or of a network and folders.

    FILE: .npz, as numpy.savez(file, logits=..., labels=...) writes.  Optional arrays are features,
    head_weight, head_bias, train_logits, train_labels, train_features, ood_NAME_logits,
    ood_NAME_features, production_logits, production_features, production_labels,
    production_files, class_names, files, groups and strata; probabilities may replace logits.  Or
    a table, .csv or .parquet, with columns logit_0 ... or prob_0 ..., feature_0 ..., label, set,
    file, group and stratum.

    REQUIRE: NAME>=NUMBER or NAME<=NUMBER, as "accuracy>=0.9" or "auroc:pets>=0.8"; names are
    accuracy, coverage, coverage_at_risk_0.05, risk, ece, ece_scaled, aurc, auroc and fpr95.  A
    requirement holds if it holds for the whole 95 % interval.

    Exit status: 0, 1 if a requirement does not hold, 2 if the usage or the file is wrong.
    """
    source = given.file or given.model or "model"
    tell = _teller(f"reads {given.file or given.model}")
    from known_unknowns.auditing.findings import read_requirement
    from known_unknowns.auditing.report import WRITTEN
    from known_unknowns.auditing.watching import LOCKED, WATCHED

    folder = _folder(given, source, (*WRITTEN, WATCHED, LOCKED))
    _check_labels(given, folder["path"])
    for condition in given.require:
        read_requirement(condition)

    from known_unknowns.auditing.auditing import audit

    inputs = _gathered(given)
    if given.labels is not None:
        from known_unknowns.auditing.labelling import with_labels

        inputs = with_labels(inputs, given.labels)
    target: dict[str, Any] = {}
    if given.risk is not None:
        target["risk"] = given.risk
    if given.reviews is not None:
        given.coverage = _coverage_of(given.reviews)
    if given.coverage is not None:
        target["coverage"] = given.coverage
    if given.costs is not None:
        target["costs"] = tuple(given.costs)
    audited = audit(
        inputs,
        wish="risk" if given.coverage is None else "coverage",
        **target,
        confidence=given.confidence,
        unknown_share=given.share,
        score=given.score,
        fallback=given.fallback,
        require=given.require,
        tell=tell,
    )
    _report(audited, folder, tell, shlex.join(["known-unknowns", *given.words]))
    for row in audited.requirements:
        verdict = "holds" if row["holds"] else "DOES NOT HOLD"
        interval = f"{row['value']:.4g} ({row['low']:.4g} to {row['high']:.4g})"
        print(f"{row['requirement']}: {verdict}, {interval}")
    return HOLDS if all(row["holds"] for row in audited.requirements) else FAILS


def _report(audited: Audit, folder: dict, tell: Callable, command: str = "") -> None:
    """Write the files of an audit; print probable problems, summary and paths."""
    # the commands in the report work from the folder in which the audit was started
    audited = replace(audited, folder=str(folder["path"]), command=command)
    tell("writes the report")
    written = _written(audited.save, folder)
    tell("is done")
    doubts = [f"Check this first: {doubt}" for doubt in audited.doubts]
    lines = ["", *doubts, *audited.summary(), "", *map(str, written)]
    print("\n".join(lines))


def _demo(given: argparse.Namespace) -> int:
    from known_unknowns.auditing.inputs import open_demo
    from known_unknowns.auditing.report import WRITTEN

    given.out = Path(DEMO)
    given.force = True
    folder = _folder(given, DEMO, WRITTEN)
    inputs, description = open_demo()
    print(description, flush=True)
    from known_unknowns.auditing.auditing import audit

    _report(audit(inputs), folder, tell=lambda line: None)
    print(
        "\nNext, your own model. Save its outputs in Python, and audit the file:\n"
        '    np.savez("my_outputs.npz", logits=logits, labels=labels)\n'
        "    known-unknowns audit my_outputs.npz"
    )
    return HOLDS


def _check_rejector(given: argparse.Namespace) -> None:
    """Refuse a file that is no rejector, and swapped arguments."""
    from helpers.checkpoints import is_checkpoint

    if given.rejector.exists() and not is_checkpoint(given.rejector):
        swapped = "; the two files look swapped" if is_checkpoint(given.file) else ""
        expected = f"expected: {given.command} REJECTOR OUTPUTS{swapped}"
        raise ValueError(f"{given.rejector} is no rejector; {expected}")


def _watch(given: argparse.Namespace) -> int:
    """Print the count of a look and the bound; return `FAILS` for an alarm."""
    from helpers.checks import open_share
    from known_unknowns.auditing import living
    from known_unknowns.auditing.sentences import render
    from known_unknowns.auditing.watching import CHANCE, FALSE_ALARMS, look

    open_share("share", given.share)
    _check_rejector(given)
    state = given.state or given.rejector.with_suffix(".watch.json")
    if living.is_checked(given.file):
        return _watch_answers(given, state)
    if given.move_to:
        raise ValueError(
            "--move-to: a table of accept --check expected, with the column truth filled in"
        )
    seen = look(given.rejector, given.file, state, most=given.share, acknowledge=given.acknowledge)
    sentences = render(
        "watched",
        file=given.file.name,
        **seen,
        usual=CHANCE,
        false_alarms=FALSE_ALARMS,
        most=given.share,
        acknowledged=given.acknowledge,
    )
    print("\n".join(sentences))
    return FAILS if seen["bound"] >= given.share and not given.acknowledge else HOLDS


def _watch_answers(given: argparse.Namespace, state: Path) -> int:
    """Print what checked answers say about the guarantee; return `FAILS` if it is broken."""
    from known_unknowns.auditing import living
    from known_unknowns.auditing.sentences import render

    if given.acknowledge:
        raise ValueError("--acknowledge: only for new outputs; a broken guarantee stays broken")
    seen = living.check_answers(given.rejector, given.file, state)
    print("\n".join(render("checked", file=given.file.name, **seen)))
    if not given.move_to:
        return FAILS if seen["verdict"].state == "broken" else HOLDS
    given.out = given.move_to
    given.force = False
    _check_file(given)
    moved = living.moved(given.rejector, state)
    moved.save(given.move_to)
    title = moved.score.info.title
    print(*render("stricter_rejector", path=given.move_to, rule=moved, title=title))
    return HOLDS


def _accept(given: argparse.Namespace) -> int:
    from helpers.files import atomic_path
    from known_unknowns.auditing.checked import no_formula
    from known_unknowns.auditing.inputs import read_new
    from known_unknowns.auditing.living import draw_checked
    from known_unknowns.auditing.rejector import Rejector

    _check_rejector(given)
    if given.out is not None:
        _check_file(given)
    rejector = Rejector.load(given.rejector)
    names = rejector.provenance.get("class_names") or ()
    logits, features, files = read_new(given.file, names)
    judged = rejector.judge(logits, features, by_answer=given.by_answer)
    judged.insert(0, "image", files)
    if given.check:
        judged["check"], judged["truth"] = draw_checked(len(judged), given.check, given.file)
    for column in ("image", "label", "reason"):
        judged[column] = [no_formula(value) for value in judged[column]]
    if given.out is None:
        judged.to_csv(sys.stdout, index=False)
        return HOLDS
    with atomic_path(given.out) as temporary:
        judged.to_csv(temporary, index=False)
    print(f"{given.out}: {int(judged['accepted'].sum())} of {len(judged)} images are accepted")
    return HOLDS


def _check_file(given: argparse.Namespace) -> None:
    """Refuse to replace a file without --force; never replace an input."""
    from helpers.files import check_no_device

    out = given.out
    _check_place(out)
    check_no_device(out)
    for path, content in ((given.rejector, "the rejector"), (given.file, "the new outputs")):
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"--out: {out} holds {content}; name another file")
    if not given.force and (out.exists() or out.is_symlink()):
        raise ValueError(f"--out: {out} is there already; name another file, or add --force")


def _bench(given: argparse.Namespace) -> int:
    tell = _teller(f"reads {given.file}")
    from known_unknowns.bench import contest, entries_of, files_of, packs

    entries = entries_of(given.file)
    folder = _folder(given, given.file, files_of(entries))
    try:
        ranked = contest(entries, packs(given.packs), tell=tell)
    except AssertionError as error:  # the contract of a score is broken: print all lines
        print(error, file=sys.stderr)
        return FAILS
    written = _written(lambda folder_made: [ranked.write(folder_made)], folder)
    tell("is done")
    sentences = [line for name in entries for line in ranked.sentences(name)]
    lines = ["", *sentences, *ranked.rank_tests(), "", *map(str, written)]
    print("\n".join(lines))
    return HOLDS

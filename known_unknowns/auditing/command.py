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
from pathlib import Path

#: Exit status: all requirements hold, one requirement fails, wrong usage or input, Ctrl-C.
HOLDS, FAILS, REFUSED, STOPPED = 0, 1, 2, 130

#: Control characters, which can change what a terminal shows, by what is printed in their place.
_VISIBLE = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\t\n"
}
# marks that reverse text, and halves of characters, which cannot be printed
_VISIBLE |= {
    code: f"\\u{code:04x}"
    for code in (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
}
_VISIBLE |= {code: f"\\u{code:04x}" for code in range(0xD800, 0xE000)}
#: First characters of a cell that a spreadsheet computes as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

#: The folder that the demo writes.
DEMO = "known_unknowns_demo"


class _Terminal:
    """A stream that shows control characters in names of files, sets and classes as text.

    If the reader closes the pipe, the rest is dropped, and the command continues: its files and its
    exit status do not depend on the reader.
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
        self.exit(REFUSED, f"{self.prog}: {message}; --help says more\n")


def main(command_line: list[str] | None = None) -> int:
    """Run a command, and return its exit status; an error is one line on standard error."""
    out, err = _Terminal(sys.stdout), _Terminal(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            return _run(command_line)
        finally:
            with contextlib.suppress(OSError):  # the disk is full, which a command has reported
                out.flush()


def _run(command_line: list[str] | None) -> int:
    """Run a command with the streams of `main`, and return its exit status."""
    given = _parser().parse_args(command_line)
    name = " ".join(filter(None, ("known-unknowns", given.command)))
    gc.set_threshold(100_000)  # objects are kept until the end: no cycles to collect
    if command_line is None:  # a request to end, as from a system that shuts down, is like Ctrl-C
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = globals()[f"_{given.command or 'version'}"](given)
        sys.stdout.flush()
        return status
    except (Exception, SystemExit) as error:  # a scheduler must not take an error for an alarm
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
    parser.add_argument("--version", action="store_true", help="say which version this is")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    titles = {
        "demo": f"audit a published network that comes with the package, into {DEMO}",
        "audit": "from the outputs of a classifier to a report, audit.json and a rejector",
        "accept": "judge new outputs with the rejector of an audit, as CSV",
        "watch": "count the images unlike the validation images, day by day, and raise an alarm",
        "bench": "rank your score among all others, on features of published networks",
    }
    added = {name: commands.add_parser(name, help=words) for name, words in titles.items()}
    _, audit, accept, watch, bench = added.values()
    audit.formatter_class = argparse.RawDescriptionHelpFormatter
    audit.epilog = inspect.getdoc(_audit)
    network = audit.add_argument_group("or a network of timm and folders, in place of FILE")
    wish = audit.add_mutually_exclusive_group()
    share, path, folder = {"type": float, "metavar": "SHARE"}, {"type": Path}, {"metavar": "DIR"}
    many, switch = {"action": "append", "default": []}, {"action": "store_true"}
    kinds = {"choices": ("logits", "probabilities"), "default": "logits"}
    for command, name, words, options in (
        (audit, "file", "outputs of the classifier, see below", path | {"nargs": "?"}),
        (wish, "--risk", "keep as many answers as may be with this share wrong (0.05)", share),
        (wish, "--coverage", "or accept at least this share of images like those in FILE", share),
        (audit, "--confidence", "of the promise of a risk (0.95)", share | {"default": 0.95}),
        (audit, "--share", "of unknown images that a risk allows (0)", share | {"default": 0.0}),
        (audit, "--require", "what has to hold; any number of times, see below", many),
        (network, "--model", "its name (extra torch)", {}),
        (network, "--validation", "a folder for each class", folder),
        (network, "--train", "likewise, of training images", folder),
        (network, "--ood", "images of unknown classes; any number of times", many | folder),
        (network, "--production", "unlabelled images", folder),
        (network, "--classes", "names of the classes in the model's order, a line each", path),
        (network, "--download", "fetch the weights", switch),
        *((command, "rejector", "rejector.safetensors", path) for command in (accept, watch)),
        *((command, "file", "new outputs, in a file as for audit", path)
          for command in (accept, watch)),
        (watch, "--share", "of unlike images without alarm (0.02)", share | {"default": 0.02}),
        (watch, "--state", "where the counts are kept (REJECTOR.watch.json)", path),
        (watch, "--acknowledge", "the alarm is explained: begin a new count after FILE", switch),
        (accept, "--out", "where to, a CSV file (default: the screen)", path),
        (bench, "file", "a Python file that registers a score; it is executed", path),
        (bench, "--packs", "a folder of feature packs (default: those that come along)", path),
        (audit, "--treat-as", "what the logits are", kinds),
        *((command, "--out", "where to (default: the file's name and the command's)", path)
          for command in (audit, bench)),
        *((command, "--force", "replace an earlier file or folder", switch)
          for command in (audit, accept, bench)),
    ):  # fmt: skip
        command.add_argument(name, help=words, **options)
    return parser


def _gathered(given: argparse.Namespace):
    """Return the inputs of an audit from a file, or from a network and folders."""
    if (given.file is None) == (given.model is None):
        raise ValueError("FILE, or --model and --validation, expected; --help says more")
    if given.model is None:
        from known_unknowns.auditing.inputs import read_outputs

        if any((given.validation, given.train, given.ood, given.production, given.classes)):
            raise ValueError("a folder or --classes: only with --model; FILE has arrays for these")
        return read_outputs(given.file, treat_as=given.treat_as)
    if given.model.endswith(".onnx"):
        raise ValueError("--model: the name of a network of timm expected; the audit's page shows "
                         "how onnxruntime writes the outputs of an ONNX file")  # fmt: skip
    if not given.validation:
        raise ValueError("--validation: a folder with a subfolder for each class expected")
    lines = given.classes.read_text(encoding="utf-8-sig").splitlines() if given.classes else ()
    try:
        from known_unknowns.auditing.networks import gather
    except ImportError as error:
        raise ValueError(f"{error}; pip install '.[torch]' in the repository") from error
    names = [line.strip() for line in lines if line.strip()]
    more = {"outputs": "", "checkpoint": "", "generated": 0, "seed": 0}
    return gather(argparse.Namespace(**vars(given) | more, class_names=names))


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
    ood_NAME_features, production_logits, production_features, class_names, files, groups and
    strata; probabilities may replace logits.  Or a table, .csv or .parquet, with columns
    logit_0 ... or prob_0 ..., feature_0 ..., label, set, file, group and stratum.

    REQUIRE: NAME>=NUMBER or NAME<=NUMBER, as "accuracy>=0.9" or "auroc:pets>=0.8"; names are
    accuracy, coverage, coverage_at_risk_0.05, risk, ece, ece_scaled, aurc, auroc and fpr95.  A
    requirement holds if it holds for the whole 95 % interval.

    Exit status: 0, 1 if a requirement does not hold, 2 if the usage or the file is wrong.
    """
    tell = _teller(f"reads {given.file or given.model}")
    from known_unknowns.auditing.findings import read_requirement
    from known_unknowns.auditing.report import WRITTEN
    from known_unknowns.auditing.watching import LOCKED, WATCHED

    folder = _folder(given, given.file or given.model or "model", (*WRITTEN, WATCHED, LOCKED))
    for condition in given.require:
        read_requirement(condition)

    from known_unknowns.auditing.auditing import audit
    from known_unknowns.auditing.thresholds import WISHES

    inputs = _gathered(given)
    wishes = {name: value for name in WISHES if (value := getattr(given, name)) is not None}
    audited = audit(
        inputs, wish=next(iter(wishes), "risk"), **wishes, confidence=given.confidence,
        unknown_share=given.share, require=given.require, tell=tell,
    )  # fmt: skip
    _report(audited, folder, tell)
    for row in audited.requirements:
        verdict = "holds" if row["holds"] else "DOES NOT HOLD"
        print("{requirement}: {0}, {value:.4g} ({low:.4g} to {high:.4g})".format(verdict, **row))
    return HOLDS if all(row["holds"] for row in audited.requirements) else FAILS


def _report(audited, folder: dict, tell: Callable) -> None:
    """Write the files of an audit; print probable problems, summary and paths."""
    from known_unknowns.auditing.findings import summary

    # the command in the report works from the folder in which the audit was started
    audited.rejector_file = shlex.quote(str(folder["path"] / "rejector.safetensors"))
    tell("writes the report")
    written = _written(audited.save, folder)
    tell("is done")
    doubts = [f"Check this first: {doubt}" for doubt in audited.doubts]
    print("", *doubts, *summary(audited), "", *written, sep="\n")


def _demo(given: argparse.Namespace) -> int:
    from known_unknowns.auditing.inputs import open_demo
    from known_unknowns.auditing.report import WRITTEN

    given.out, given.force = Path(DEMO), True
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
    from known_unknowns.auditing.sentences import render
    from known_unknowns.auditing.watching import CHANCE, FALSE_ALARMS, look

    open_share("share", given.share)
    _check_rejector(given)
    state = given.state or given.rejector.with_suffix(".watch.json")
    options = {"most": given.share, "acknowledge": given.acknowledge}
    seen = look(given.rejector, given.file, state, **options)
    numbers = {"usual": CHANCE, "false_alarms": FALSE_ALARMS, "most": given.share}
    numbers["acknowledged"] = given.acknowledge
    print(*render("watched", file=given.file.name, **seen, **numbers), sep="\n")
    return FAILS if seen["bound"] >= given.share and not given.acknowledge else HOLDS


def _accept(given: argparse.Namespace) -> int:
    from helpers.files import atomic_path
    from known_unknowns.auditing.inputs import read_new
    from known_unknowns.auditing.rejector import Rejector

    _check_rejector(given)
    if given.out is not None:
        _check_file(given)
    rejector = Rejector.load(given.rejector)
    names = rejector.provenance.get("class_names") or ()
    logits, features, files = read_new(given.file, names)
    judged = rejector.judge(logits, features)
    judged.insert(0, "image", files)
    for column in ("image", "label", "reason"):
        judged[column] = [_no_formula(value) for value in judged[column]]
    if given.out is None:
        judged.to_csv(sys.stdout, index=False)
        return HOLDS
    with atomic_path(given.out) as temporary:
        judged.to_csv(temporary, index=False)
    print(f"{given.out}: {int(judged['accepted'].sum())} of {len(judged)} images are accepted")
    return HOLDS


def _check_file(given: argparse.Namespace) -> None:
    """Refuse an output that is there, unless it may be replaced; never replace an input."""
    from helpers.files import check_no_device

    out = given.out
    _check_place(out)
    check_no_device(out)
    for path, content in ((given.rejector, "the rejector"), (given.file, "the new outputs")):
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"--out: {out} holds {content}; name another file")
    if not given.force and (out.exists() or out.is_symlink()):
        raise ValueError(f"--out: {out} is there already; name another file, or add --force")


def _no_formula(value):
    """Return a cell of a CSV file that a spreadsheet shows, and does not compute.

    >>> _no_formula("=1+1"), _no_formula("cat"), _no_formula(-1)
    ("'=1+1", 'cat', -1)
    """
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


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
    print("", *sentences, *ranked.rank_tests(), "", *written, sep="\n")
    return HOLDS

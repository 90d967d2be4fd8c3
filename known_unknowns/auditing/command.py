"""The command ``known-unknowns``: audit outputs, accept or watch new outputs, rank a score.

    known-unknowns demo
    known-unknowns audit outputs.npz --risk 0.05
    known-unknowns outputs photos --model resnet50.a1_in1k --out new.npz
    known-unknowns accept outputs_audit/rejector.safetensors new.npz
    known-unknowns watch outputs_audit/rejector.safetensors new.npz
    known-unknowns bench my_score.py

Modules are imported when they are needed, so that the first output appears at once.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import signal
import sys

from helpers import __version__
from known_unknowns.auditing.commands.audit import (
    DEMO,
    add_audit,
    add_outputs,
    run_audit,
    run_demo,
    run_outputs,
)
from known_unknowns.auditing.commands.bench import add_bench, run_bench
from known_unknowns.auditing.commands.places import REFUSED, STOPPED
from known_unknowns.auditing.commands.rejectors import (
    add_accept,
    add_watch,
    run_accept,
    run_watch,
)

#: Arguments of functions in messages, and the options of the command.
ARGUMENTS = {
    "unknown_share: ": "--share: ",
    "fallback: ": "--fallback: ",
    "by_answer: ": "--by-answer: ",
    "pass download=True": "add --download",
    "or pass class_names": "or pass --classes",
}
#: Characters that can change a terminal's text, or reverse it, and the text that we print instead.
_VISIBLE = {
    code: chr(code).encode("unicode_escape").decode()
    for codes in (
        range(9),
        range(11, 32),
        range(127, 160),
        range(0x200E, 0x2010),
        range(0x2028, 0x202F),
        range(0x2066, 0x206A),
    )
    for code in codes
}


class _Terminal:
    r"""A stream that shows control characters in names of files, sets and classes as text.

    A character that the stream's encoding cannot write is printed as its number.  If the reader
    closes the pipe, further text is dropped, and the command continues: its files and its exit
    status do not depend on the reader.

    >>> import io
    >>> stream = io.TextIOWrapper(io.BytesIO(), "latin-1")
    >>> _Terminal(stream).write("café 猫\x1b[2J")
    10
    >>> stream.flush()
    >>> stream.buffer.getvalue()
    b'caf\xe9 \\u732b\\x1b[2J'
    """

    def __init__(self, stream):
        # the caller may have closed it
        self._stream = stream or open(os.devnull, "w")
        with contextlib.suppress(AttributeError):  # a stream of Jupyter has no encoding to set
            self._stream.reconfigure(errors="backslashreplace")

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
            self.drop()

    def drop(self) -> None:
        """Drop the text that is not written yet, and all further text."""
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
            try:
                out.flush()
            except OSError:  # the disk is full, which a command has reported
                out.drop()  # else Python tries again at its end, and the exit status is 120


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
        line = " ".join(str(error).split())
        for argument, option in ARGUMENTS.items():
            line = line.replace(argument, option)
        if not isinstance(error, OSError | SyntaxError | ValueError):
            line = f"{type(error).__name__}: {line}".rstrip(": ")
        print(f"{name}: {line}", file=sys.stderr)
        return REFUSED
    except KeyboardInterrupt:
        print(f"{name}: stopped, nothing is written", file=sys.stderr)
        return STOPPED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="known-unknowns", description="Know what a classifier does not know.")
    parser.add_argument(
        "--version",
        action="version",
        version=f"known-unknowns {__version__}",
        help="print the version",
    )
    parser.set_defaults(run=_without_command)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, run, add_options, words in (
        ("demo", run_demo, None, f"audit a published network of the package, into {DEMO}"),
        ("audit", run_audit, add_audit, "from outputs to a report, audit.json and a rejector"),
        ("outputs", run_outputs, add_outputs, "of a network for a folder of images"),
        (
            "accept",
            run_accept,
            add_accept,
            "judge new outputs by a rejector, as CSV",
        ),
        (
            "watch",
            run_watch,
            add_watch,
            "count images unlike the validation images, or check answers, and raise an alarm",
        ),
        ("bench", run_bench, add_bench, "rank your score among all others, on published networks"),
    ):
        command = commands.add_parser(name, help=words)
        command.set_defaults(run=run)
        if add_options:
            add_options(command)
    return parser


def _without_command(given: argparse.Namespace) -> int:
    raise ValueError(
        "a command expected: demo, audit, outputs, accept, watch or bench; begin with "
        "`known-unknowns demo`, or see --help"
    )

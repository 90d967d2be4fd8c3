"""How a notebook's kernel is started, and how a process ended that dies without a word."""

import signal
import sys

# jsonschema, which all that reads notebooks imports, would let this package build a grammar of
# addresses, which takes two seconds and which no notebook has; without the package it does not
UNUSED = "rfc3987_syntax"
ARGUMENTS = [
    # it warns of unencrypted ports on this machine, once a notebook
    "--IPKernelApp.log_level=CRITICAL",
    f"--IPKernelApp.exec_lines=__import__('sys').modules['{UNUSED}'] = None",
]
"""Of the command that starts a kernel."""
sys.modules[UNUSED] = None  # here too

OUT_OF_MEMORY = (
    "the system ends processes so when its memory is full: close other programs, or have fewer "
    "things at work at once (CORES=1)"
)
COMPILED_CODE = (
    "a library's compiled code failed, no Python: ONEDNN_MAX_CPU_ISA=SSE41 before the command "
    "shuns the newer instructions, PYTHONFAULTHANDLER=1 shows the line; please report it"
)


def ending(status: int | None) -> str:
    """Say how a process ended, and what to do.

    Parameters
    ----------
    status : int or None
        As `subprocess` has it: the number of a signal is negative; None, nobody knows.

    Examples
    --------
    >>> ending(1)
    'exited with status 1'
    >>> ending(-11)  # doctest: +ELLIPSIS
    "ended by SIGSEGV (Segmentation fault); a library's compiled code failed, ..."
    """
    if status is None:
        return "ended, nobody knows by what"
    if status >= 0:
        return f"exited with status {status}"
    name, words = signal.Signals(-status).name, signal.strsignal(-status)
    faults = ("SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSEGV")
    advice = OUT_OF_MEMORY if name == "SIGKILL" else COMPILED_CODE if name in faults else ""
    return f"ended by {name} ({words})" + (f"; {advice}" if advice else "")

"""Faults on purpose: what becomes of the files of this project when things go wrong.

`kinds` says which files there are, `children` runs what may die, and each other module has one
sort of fault.  Every case ends in one of the `OUTCOMES`; those that must not be end the run with
an error.
"""

from __future__ import annotations

OUTCOMES = {
    "as before": "what is read is, bit by bit, what was written",
    "refused": "an error that names the file; nothing of it is used",
    "made anew": "the damaged file is set aside under another name, and what is made is the same",
    "beside": "the folder is whole under a temporary name beside its own",
    "the same": "after all is done again, every file is, bit by bit, as without the fault",
}
"""What may come of a fault, and what it means."""

DEFECTS = {
    "taken": "something else than was written is used",
    "vague": "an error that does not name the file",
    "crash": "an error of another kind, no end, or a signal",
    "executed": "something in a file was executed",
    "lost": "a file that was whole is gone, or half of one is there",
    "left over": "a temporary file stays behind although nobody was killed",
}
"""What must not come of one."""

"""``known-unknowns bench``: a new score among all others."""

from __future__ import annotations

import argparse
import sys

from known_unknowns.auditing.commands.places import (
    FAILS,
    HOLDS,
    add_out,
    output_folder,
    path_of,
    teller,
)


def add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=path_of, help="a Python file that registers a score; it is executed"
    )
    parser.add_argument(
        "--packs", type=path_of, help="a folder of feature packs (default: the package's packs)"
    )
    add_out(parser, "folder of the tables (for score.py: score_bench)")


def run_bench(given: argparse.Namespace) -> int:
    tell = teller(f"reads {given.file}")
    from helpers.files import atomic_folder
    from known_unknowns.bench import contest, entries_of, files_of, packs

    entries = entries_of(given.file)
    folder = output_folder(given, given.file, files_of(entries))
    try:
        ranked = contest(entries, packs(given.packs), tell=tell)
    except AssertionError as error:  # the contract of a score is broken: print all lines
        print(error, file=sys.stderr)
        return FAILS
    with atomic_folder(**folder) as temporary:
        page = ranked.write(temporary)
    tell("is done")
    sentences = [line for name in entries for line in ranked.sentences(name)]
    print("", *sentences, *ranked.rank_tests(), "", folder["path"] / page.name, sep="\n")
    return HOLDS

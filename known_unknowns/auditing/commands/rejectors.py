"""``known-unknowns accept`` and ``watch``: a rejector on new outputs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from known_unknowns.auditing.commands.places import FAILS, HOLDS, add_out, check_place, path_of


def add_accept(parser: argparse.ArgumentParser) -> None:
    _add_rejector(parser)
    parser.add_argument(
        "--check",
        type=int,
        metavar="N",
        help="draw N images at random, whose answers somebody checks in the column truth",
    )
    parser.add_argument(
        "--by-answer",
        action="store_true",
        help="use the separate threshold of each answer; answers without one are rejected",
    )
    add_out(parser, "CSV file to write (default: the screen)")


def add_watch(parser: argparse.ArgumentParser) -> None:
    _add_rejector(parser, "new outputs, or a table of accept --check that somebody has filled in")
    parser.add_argument(
        "--share",
        type=float,
        metavar="SHARE",
        default=0.02,
        help="largest share of unlike images without an alarm (0.02)",
    )
    parser.add_argument("--state", type=path_of, help="file with the counts (REJECTOR.watch.json)")
    parser.add_argument(
        "--move-to",
        type=path_of,
        metavar="REJECTOR",
        help="write a rejector with the smallest threshold that the checked answers certify",
    )
    parser.add_argument(
        "--acknowledge",
        action="store_true",
        help="the alarm is explained: begin a new count after FILE",
    )


def _add_rejector(
    parser: argparse.ArgumentParser, words: str = "new outputs, in a file as for audit"
) -> None:
    parser.add_argument("rejector", type=path_of, help="rejector.safetensors")
    parser.add_argument("file", type=path_of, help=words)


def _check_rejector(given: argparse.Namespace) -> None:
    """Refuse a file that is no rejector, and swapped arguments."""
    from helpers.checkpoints import is_checkpoint

    if given.rejector.exists() and not is_checkpoint(given.rejector):
        swapped = "; the two files look swapped" if is_checkpoint(given.file) else ""
        expected = f"expected: {given.command} REJECTOR OUTPUTS{swapped}"
        raise ValueError(f"{given.rejector} is no rejector; {expected}")


def _check_file(given: argparse.Namespace, out: Path, option: str) -> None:
    """Refuse to replace a file without --force; never replace an input."""
    from helpers.files import check_no_device

    check_place(out, option)
    check_no_device(out)
    for path, content in ((given.rejector, "the rejector"), (given.file, "the new outputs")):
        if out.exists() and path.exists() and out.samefile(path):
            raise ValueError(f"{option}: {out} holds {content}; name another file")
    force = getattr(given, "force", None)  # watch has no such option
    if not force and (out.exists() or out.is_symlink()):
        remedy = "" if force is None else ", or add --force"
        raise ValueError(f"{option}: {out} is there already; name another file{remedy}")


def run_accept(given: argparse.Namespace) -> int:
    from helpers.files import atomic_path
    from known_unknowns.auditing.checked import no_formula
    from known_unknowns.auditing.inputs import read_new
    from known_unknowns.auditing.living import draw_checked, guaranteed_risk
    from known_unknowns.auditing.rejector import Rejector
    from known_unknowns.auditing.units import of_unit

    _check_rejector(given)
    if given.out is not None:
        _check_file(given, given.out, "--out")
    if given.check is not None and given.by_answer:
        raise ValueError("--check: it tests the common threshold; leave out --by-answer")
    rejector = Rejector.load(given.rejector)
    if given.check is not None:
        guaranteed_risk(rejector)  # without a risk, watch refuses the checked answers
    new = read_new(given.file, rejector.provenance.get("class_names") or ())
    judged = rejector.judge(new.logits, new.features, by_answer=given.by_answer)
    judged.insert(0, "image", new.images)
    if given.check is not None:
        judged = judged.assign(**draw_checked(len(judged), given.check, new.digest))
    for column in ("image", "label", "reason"):
        judged[column] = [no_formula(value) for value in judged[column]]
    if given.out is None:
        judged.to_csv(sys.stdout, index=False)
        return HOLDS
    with atomic_path(given.out) as temporary:
        judged.to_csv(temporary, index=False)
    images = of_unit("images", rejector.unit)
    print(f"{given.out}: {int(judged['accepted'].sum())} of {len(judged)} {images} are accepted")
    return HOLDS


def run_watch(given: argparse.Namespace) -> int:
    """Print the count of a look and the bound; return `FAILS` for an alarm."""
    from helpers.checks import open_share
    from known_unknowns.auditing import living
    from known_unknowns.auditing.inputs import read_new
    from known_unknowns.auditing.rejector import Rejector
    from known_unknowns.auditing.sentences import render
    from known_unknowns.auditing.watching import CHANCE, FALSE_ALARMS, look

    open_share("share", given.share)
    _check_rejector(given)
    state = given.state or given.rejector.with_suffix(".watch.json")
    if given.move_to:
        _check_file(given, given.move_to, "--move-to")
        if given.move_to.absolute() == state.absolute():
            raise ValueError(f"--move-to: {state} has the counts; name another file")
    rule = Rejector.load(given.rejector)
    if living.has_answers(given.file):
        if given.acknowledge:
            raise ValueError("--acknowledge: only for new outputs; a broken guarantee stays broken")
        return _report_answers(given, living.check_answers(given.rejector, rule, given.file, state))
    if given.move_to:
        raise ValueError(
            "--move-to: a table of accept --check expected, with the column truth filled in"
        )
    new = read_new(given.file, rule.provenance.get("class_names") or ())
    seen = look(given.rejector, rule, new, state, most=given.share, acknowledge=given.acknowledge)
    sentences = render(
        "watched",
        file=given.file.name,
        **seen,
        usual=CHANCE,
        false_alarms=FALSE_ALARMS,
        most=given.share,
        acknowledged=given.acknowledge,
    )
    print(*sentences, *render("watch_finds", **seen), sep="\n")
    if new.labelled:
        advice = "; check answers that accept --check draws" if rule.provenance.get("risk") else ""
        print(f"The labels are not used{advice}.")
    return FAILS if seen["bound"] >= given.share and not given.acknowledge else HOLDS


def _report_answers(given: argparse.Namespace, seen: dict) -> int:
    """Print the evidence of checked answers, and write a rejector with --move-to."""
    from known_unknowns.auditing.sentences import render

    print(*render("checked", file=given.file.name, **seen), sep="\n")
    if not given.move_to:
        return FAILS if seen["verdict"].state == "broken" else HOLDS
    moved = seen["moved"]
    if moved is None:
        print("--move-to: no rejector, since these answers certify no threshold yet; check more")
        return FAILS
    moved.save(given.move_to)
    print(
        *render(
            "stricter_rejector",
            moved.unit,
            path=given.move_to,
            rule=moved,
            title=moved.score.info.title,
        )
    )
    return HOLDS

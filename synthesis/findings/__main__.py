"""Print the ten findings, or those that the command names.

python -m synthesis.findings
python -m synthesis.findings temperature own_mistakes
"""

import argparse
import textwrap

from synthesis.findings import TEXTS, find


def main(command_line: list[str] | None = None) -> None:
    """Print a paragraph for each finding: name, sentence, scope."""
    parser = argparse.ArgumentParser(prog="python -m synthesis.findings", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *TEXTS], help="by default all ten")
    for name in parser.parse_args(command_line).names or TEXTS:
        finding = find(name)
        text = f"{finding.sentence} Scope: {finding.scope}"
        print(f"{name}: {finding.title}.")
        print(textwrap.fill(text, 98, initial_indent="    ", subsequent_indent="    "), end="\n\n")


if __name__ == "__main__":
    main()

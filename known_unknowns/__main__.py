"""``python -m known_unknowns`` is the command ``known-unknowns``."""

import sys

from known_unknowns.auditing.command import main

sys.exit(main())

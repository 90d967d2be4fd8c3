"""``python -m known_unknowns`` is the command ``known-unknowns``."""

import sys

from helpers.audit.command import main

sys.exit(main())

"""The subcommands of ``known-unknowns``; each module has options and functions."""

"""The subcommands of ``known-unknowns``; each module has their options and what they do."""

"""Judgement about all papers together: claims, verdicts, the ledger and the chapters about them.

It may import everything; `helpers` and `known_unknowns` never import it.
"""

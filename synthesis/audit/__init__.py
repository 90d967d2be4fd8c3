"""The chapter on the audit of one model, which `known_unknowns.auditing` computes."""

"""The chapter on estimates without labels, which `known_unknowns.without_labels` computes.

`experiment` compares the estimates with labels, on the networks and sets of the Gscore paper.
"""

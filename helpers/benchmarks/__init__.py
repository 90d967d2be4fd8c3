"""Which classes and images play which role in each paper: one module a paper."""

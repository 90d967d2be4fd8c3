"""Each paper's protocol, from parameters to rows of the results table: one module a paper."""

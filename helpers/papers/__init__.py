"""The five papers, a folder each, and what joins them."""

"""Speed, measured side by side in one process: ratios, not seconds, are what can be compared."""

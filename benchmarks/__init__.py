"""Speed, measured side by side in one process; compare ratios, not seconds."""

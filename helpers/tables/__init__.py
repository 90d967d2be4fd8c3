"""Tables and figures that several pages share, and the results table behind them."""

"""*Evaluating Uncertainty Calibration for Open-Set Recognition*."""

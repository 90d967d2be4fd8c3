"""Run every benchmark of this folder: ``python -m benchmarks``."""

from benchmarks import training

training.main()

"""Run every benchmark of this folder: ``python -m benchmarks``."""

from benchmarks import scores, training

training.main()
scores.main([])

"""Run every benchmark of this folder: ``python -m benchmarks``."""

from benchmarks import jacobian, scores, training

training.main()
jacobian.main()
scores.main([])

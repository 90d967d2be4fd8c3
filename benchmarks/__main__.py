"""Run every benchmark of this folder: ``python -m benchmarks``."""

from benchmarks import gscore, jacobian, scores, training

training.main()
jacobian.main()
scores.main([])
gscore.main([])

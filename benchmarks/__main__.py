"""Run every benchmark of this folder: ``python -m benchmarks``."""

from benchmarks import gscore, jacobian, scores, side_by_side, training

training.main()
side_by_side.main()
jacobian.main()
scores.main([])
gscore.main([])

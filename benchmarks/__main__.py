"""Run every benchmark of this folder: ``python -m benchmarks``."""

from importlib.util import find_spec

from benchmarks import gscore, jacobian, scores, side_by_side, training

training.main()
side_by_side.main()
jacobian.main()
scores.main([])
gscore.main([])
if find_spec("torch_uncertainty"):
    from benchmarks import metrics

    metrics.main()
else:
    print('the metrics were left out: pip install -e ".[bench]" brings their peers')

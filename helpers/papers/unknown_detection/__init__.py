"""*A Unified Benchmark for the Unknown Detection Capability of DNNs*.

Kim, Koo and Hwang (2023): nine methods rank correctly classified ID test images above
misclassified, near-OOD and far-OOD images.  `methods` has their records, `detectors` makes them.
"""

from helpers.files import content_of
from helpers.papers import Paper

PAPER = Paper(**content_of(__file__, "paper"))

"""Scores from gradients; each has a file: `odin` and `jacobian` (pixels), `gradnorm` (weights)."""

from helpers.scores.gradnorm import GradNorm as GradNorm
from helpers.scores.jacobian import Jacobian as Jacobian
from helpers.scores.jacobian import jacobian_norms as jacobian_norms
from helpers.scores.odin import ODIN as ODIN
from helpers.scores.odin import stepped_logits as stepped_logits

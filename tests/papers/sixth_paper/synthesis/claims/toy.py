from synthesis.effects import Claim, Effect, Term
from synthesis.paper_claims import Claims

GAIN = Effect("accuracy, b minus a", (Term(1, "b", "accuracy"), Term(-1, "a", "accuracy")), ">", 0)
CLAIM = Claim("better", "B is more accurate than A.", "Table 1", "b minus a is > 0", (GAIN,))
CLAIMS = Claims("toy", (CLAIM,), printed=lambda numbers: numbers)

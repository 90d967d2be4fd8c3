from synthesis.effects import Effect, number
from synthesis.verdicts import Claims

CLAIMS = Claims("toy", main="better", printed=lambda numbers: numbers)


@CLAIMS.add(source="Table 1", check="b minus a is > 0")
def better():
    """B is more accurate than A."""
    gain = number("accuracy", "b") - number("accuracy", "a")
    return [Effect("accuracy, b minus a", gain, ">", 0)]

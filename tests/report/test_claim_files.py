"""A line of a claims file is one effect, or one for each combination of names."""

import pytest

from helpers.report.claim_files import read_claims
from helpers.report.claims import Effect, Term

TITLES = {"a": "A", "b": "B", "c": "C"}


def read(folder, effects):
    file = folder / "claims.yaml"
    head = "claims:\n- {id: x, text: X., source: T, check: A is best, about: [training], effects: "
    file.write_text(head + effects + "}\n", encoding="utf-8")
    (claim,) = read_claims(file, method=TITLES)
    assert (claim.id, claim.about, claim.names) == ("x", ("training",), ())
    return list(claim.effects)


@pytest.mark.parametrize(
    ("line", "effect"),
    [
        ("['gain: ece of a - ece of b > 0']",
         Effect("gain", (Term(1, "a", "ece"), Term(-1, "b", "ece")), ">", 0.0)),
        ("['n: x of a - y of b - z of c < 0.5']",
         Effect("n", (Term(1, "a", "x"), Term(-1, "b", "y"), Term(-1, "c", "z")), "<", 0.5)),
        ("['NLL: fall: nll after@out of a + b >= -0.5']",
         Effect("NLL: fall", (Term(1, "a + b", "nll", "after", "out"),), ">=", -0.5)),
        ("[{effect: 'n: auroc@far set of a < 1', decides: false}]",
         Effect("n", (Term(1, "a", "auroc", test_set="far set"),), "<", 1.0, decides=False)),
    ],
)  # fmt: skip
def test_a_line_is_an_effect(tmp_path, line, effect):
    assert read(tmp_path, line) == [effect]


@pytest.mark.parametrize(
    ("keys", "expected"), [("all", "abc"), ("not b", "ac"), ("[c, a]", "ca"), ("[]", "")]
)
def test_there_is_an_effect_for_each_combination(tmp_path, keys, expected):
    line = "'{method} on {sets}: auroc@{sets} of {method.id} > 0'"
    effects = read(tmp_path, f"[{{effect: {line}, over: {{method: {keys}, sets: [s, t]}}}}]")
    assert effects == [
        Effect(f"{key.upper()} on {name}", (Term(1, key, "auroc", test_set=name),), ">", 0.0)
        for key in expected
        for name in "st"
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("['no terms > 0']", "METRIC of METHOD"),
        ("['n: ece a > 0']", "METRIC of METHOD"),
        ("['n: ece of a']", "METRIC of METHOD"),
        ("[{effect: 'n: ece of a > 0', over: {method: not d}}]", "got 'not d'"),
        ("[{effect: 'n: ece of a > 0', over: {other: all}}]", "got 'all'"),
    ],
)
def test_other_lines_are_refused(tmp_path, line, message):
    with pytest.raises(ValueError, match=message):
        read(tmp_path, line)

"""Figures with something to move: whole without a script, and nothing of a name is code."""

import json
import re

import numpy as np
import pytest

from helpers.report.movable import Axis, Position, movable

AXES = Axis("coverage", 0, 1, True), Axis("risk <b>", 0, 0.5)


def position(value, height, said="Here.", **more):
    return Position(value, said, points={"point": ([0.5], [height])}, at=float(value), **more)


def figure(*positions, **given):
    given = {"name": "toy", "what": "Threshold", "alt": "A point.", "axes": AXES} | given
    return movable(positions, **given)


def data_of(page):
    (text,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    return json.loads(text)


def test_the_first_position_is_drawn_and_said_without_a_script():
    page = figure(position("0.25", 0.1, "First."), position("0.75", 0.4, "Second."), start=1)
    still = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert "Second." in still and "First." not in still and "<label hidden>" in still
    assert data_of(page)["parts"][1][0] in still  # the path of the second, as it is drawn
    assert 'min="0" max="1" value="1"' in still
    assert "@media print" in still and "http" not in page


def test_numbers_lie_where_the_axes_say():
    """Half of the width and a fifth of the height: 78 + 510 / 2, and 326 - 314 / 5."""
    page = figure(position("0", 0.1), position("1", 0.5))
    paths = [one[0] for one in data_of(page)["parts"]]
    assert paths[0].startswith("M328 263.2a") and paths[1].startswith("M328 12a")
    assert data_of(page)["at"] == [round(78 / 600, 4), round(588 / 600, 4)]
    spread = figure(*(Position(str(one), "", points={"p": ([0], [0])}) for one in range(3)))
    assert data_of(spread)["at"][1] == round(333 / 600, 4)


def test_bars_stand_on_the_axis_and_lines_keep_their_order():
    one = position("0", 0.1, bars={"bar": ([0], [0.5], [0.5])}, lines={"line": ([0, 1], [0, 0.5])})
    bar, line, _ = data_of(figure(one, one))["parts"][0]
    assert bar == "M78 326V12H333V326Z" and line == "M78 326L588 12"


def test_ticks_are_round_numbers():
    assert [text for _, text in Axis("x", 0, 1, True).ticks()] == [
        "0 %", "20 %", "40 %", "60 %", "80 %", "100 %",
    ]  # fmt: skip
    assert [text for _, text in Axis("x", -3, 1).ticks()] == ["−3", "−2", "−1", "0", "1"]
    assert len(Axis("x", 0, 0.137).ticks()) in (5, 6, 7)


def test_words_are_text_and_never_code():
    page = figure(position("0", 0.1, "</script><b>&"), position("1", 0.2), what="<i>what")
    assert page.count("</script>") == 2 and "<i>what" not in page and "risk <b>" not in page
    assert data_of(page)["said"][0] == "</script><b>&"


@pytest.mark.parametrize(
    ("positions", "given", "why"),
    [
        ([position("0", 0.1)], {}, "at least two expected, got 1"),
        ([position("0", 0.1), Position("1", "")], {}, "number 1 has other parts"),
        ([position("0", np.nan), position("1", 0)], {}, "points 'point'"),
        ([position("0", 0.1), position("1", 0.1)], {"name": '"><b>'}, "name: letters"),
    ],
)
def test_what_cannot_be_drawn_is_refused(positions, given, why):
    with pytest.raises(ValueError, match=why):
        figure(*positions, **given)

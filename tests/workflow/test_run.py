"""What is executed when less than all is asked for."""

import pytest
import run

STEPS = dict.fromkeys(["uimnet/training", "uimnet/figures", "gscore/figures"])


@pytest.mark.parametrize(
    ("paper", "step", "names"),
    [
        (None, None, [*STEPS]),
        ("uimnet", None, ["uimnet/training", "uimnet/figures"]),
        (None, "uimnet/figures", ["uimnet/figures"]),
        ("uimnet", "uimnet/figures", ["uimnet/figures"]),
    ],
)
def test_a_paper_or_a_step_is_chosen_by_name(paper, step, names):
    assert run.chosen(STEPS, "mini", paper, step) == names


@pytest.mark.parametrize(
    ("paper", "step", "message"),
    [
        ("uimnets", None, "paper of tier mini 'uimnets'; did you mean 'uimnet'"),
        (None, "uimnet/figure", "unknown step 'uimnet/figure'; did you mean 'uimnet/figures'"),
        ("gscore", "uimnet/figures", "unknown step 'uimnet/figures'"),  # or all would be executed
    ],
)
def test_a_wrong_name_is_refused(paper, step, message):
    with pytest.raises(ValueError, match=message):
        run.chosen(STEPS, "mini", paper, step)

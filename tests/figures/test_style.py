import matplotlib

from helpers import figures


def test_the_style_is_for_all_figures():
    with matplotlib.rc_context():
        figures.use_style()
        assert matplotlib.rcParams["figure.figsize"] == [6, 4]
        assert matplotlib.rcParams["font.size"] == 11

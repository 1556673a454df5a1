"""Figures of the reproduction: the epochs in which methods differ are seen closer."""

from fmarl.reproduce.figures import figure_4, figure_6
from fmarl.reproduce.measures import LEARNING_EPOCHS
from fmarl.reproduce.study import make_study
from fmarl.reproduce.study_results import Evidence


def _ranges(figure) -> list[tuple[float, float]]:
    return [axes.get_xlim() for axes in figure.axes]


def test_long_runs_are_drawn_whole_and_then_in_the_beginning():
    nothing = Evidence(make_study("paper"), {})
    assert _ranges(figure_4(nothing))[1] == (0, LEARNING_EPOCHS)
    assert _ranges(figure_6(nothing))[3:] == [(0, LEARNING_EPOCHS)] * 3


def test_runs_that_end_in_the_beginning_are_drawn_once():
    nothing = Evidence(make_study("quick"), {})
    assert len(_ranges(figure_4(nothing))) == 1
    assert len(_ranges(figure_6(nothing))) == 3

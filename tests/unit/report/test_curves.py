"""What is drawn is what was given; what is saved is the same each time."""

from typing import Any

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from fmarl.report.curves import Panel, Series, draw_panels
from fmarl.report.forest_plot import Effect, draw_forest
from fmarl.report.mpl_style import ONE_COLUMN, TWO_COLUMNS, figure_bytes
from fmarl.report.statistics import Interval

NAN = float("nan")
EPOCHS = np.arange(4.0)
RUNS = np.array([[1.0, 2.0, 3.0, NAN], [3.0, NAN, 5.0, NAN]])
NO_BAND = np.full(4, NAN)
EFFECTS = [
    Effect("decay against none", Interval(0.03, 0.01, 0.05), "supported"),
    Effect("more rounds against fewer", Interval(-0.02, -0.03, -0.012), "not supported"),
    Effect("one seed", Interval(0.01, NAN, NAN), "undecided"),
]


def series(label: str = "periodic", **changed: Any) -> Series:
    return Series(label, EPOCHS, RUNS, NO_BAND, NO_BAND)._replace(**changed)


def panel(*all_series: Series, **changed: Any) -> Panel:
    return Panel("roads", all_series, "epoch", "speed")._replace(**changed)


def named_series(count: int, name: str) -> list[Series]:
    return [series(f"{name} {number}") for number in range(count)]


def thick_lines(figure: Figure) -> list:
    return [line for axes in figure.axes for line in axes.lines if line.get_linewidth() > 1]


def bands(figure: Figure) -> list:
    return [part for part in figure.axes[0].collections if isinstance(part, PolyCollection)]


def legend_texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_every_run_is_a_faint_line_and_their_mean_a_thick_one():
    figure = draw_panels([panel(series())], columns=1)
    *runs, mean = figure.axes[0].lines
    assert np.array_equal(np.stack([line.get_data()[1] for line in runs]), RUNS, equal_nan=True)
    assert np.array_equal(mean.get_ydata(), [2.0, 2.0, 4.0, NAN], equal_nan=True)
    assert mean.get_linewidth() > 2 * runs[0].get_linewidth()


def test_points_that_stand_for_themselves_have_bars_and_no_line():
    low, high = np.array([1.0, 1.0, 3.0, NAN]), np.array([2.5, 4.0, 4.5, NAN])
    figure = draw_panels([panel(series(low=low, high=high, is_joined=False))], columns=1)
    [points] = figure.axes[0].lines
    [bars] = figure.axes[0].collections
    assert points.get_linestyle() == "None"
    assert isinstance(bars, LineCollection)
    ends = [np.asarray(bar)[:, 1].tolist() for bar in bars.get_segments()[:3]]
    assert ends == [[1, 2.5], [1, 4], [3, 4.5]]
    assert legend_texts(figure) == ["periodic"]


def test_a_run_that_diverged_is_not_left_out_of_the_mean():
    diverged = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, np.inf, np.inf]])
    (mean,) = thick_lines(draw_panels([panel(series(runs=diverged))], columns=1))
    assert np.array_equal(mean.get_ydata(), [1.0, 1.0, np.inf, np.inf])


def test_a_band_is_drawn_only_where_its_ends_are_numbers():
    low, high = np.array([0.5, 1.5, NAN, NAN]), np.array([1.5, 2.5, NAN, NAN])
    (band,) = bands(draw_panels([panel(series(low=low, high=high))], columns=1))
    corners = band.get_paths()[0].vertices
    assert (corners.min(axis=0).tolist(), corners.max(axis=0).tolist()) == ([0, 0.5], [1, 2.5])
    assert bands(draw_panels([panel(series())], columns=1)) == []


def test_a_label_looks_the_same_in_every_panel_and_stands_once_in_the_legend():
    figure = draw_panels(
        [panel(series("a"), series("b")), panel(series("c"), series("b"))], columns=2
    )
    looks = {}
    for line in thick_lines(figure):
        looks.setdefault(line.get_label(), set()).add((line.get_color(), line.get_marker()))
    assert [len(look) for look in looks.values()] == [1, 1, 1]
    assert legend_texts(figure) == ["a", "b", "c"]


def test_seven_curves_differ_by_their_colours_and_by_their_marks_alone():
    lines = thick_lines(draw_panels([panel(*named_series(7, "method"))], columns=1))
    assert len({line.get_color() for line in lines}) == 7
    assert len({line.get_marker() for line in lines}) == 7


@pytest.mark.parametrize("num_points", [1, 2, 5, 100])
def test_every_curve_shows_its_mark_however_short(num_points):
    short = [
        series(str(n), x=np.arange(float(num_points)), runs=np.ones((2, num_points)),
               low=np.full(num_points, NAN), high=np.full(num_points, NAN))
        for n in range(9)
    ]  # fmt: skip
    lines = thick_lines(draw_panels([panel(*short)], columns=1))
    assert all(1 <= len(line.get_markevery()) <= 14 for line in lines)


def test_a_curve_without_any_value_can_be_saved():
    figure = draw_panels([panel(series(runs=np.full((2, 4), NAN)), series("b"))], columns=1)
    assert figure_bytes(figure, "svg")


def test_a_baseline_is_a_labelled_line_with_a_band():
    with_baseline = panel(series(), baseline=Interval(2.5, 2.0, 3.0), baseline_label="all SUMO")
    figure = draw_panels([with_baseline], columns=1)
    assert legend_texts(figure) == ["periodic", "all SUMO"]
    assert np.array_equal(figure.axes[0].lines[-1].get_ydata(), [2.5, 2.5])
    (band,) = figure.axes[0].patches
    assert band.get_window_extent().transformed(
        figure.axes[0].transData.inverted()
    ).intervaly == pytest.approx([2.0, 3.0])


def test_a_baseline_of_one_run_has_no_band():
    with_baseline = panel(series(), baseline=Interval(2.5, NAN, NAN), baseline_label="all SUMO")
    assert list(draw_panels([with_baseline], columns=1).axes[0].patches) == []


def test_ranges_and_scale_are_those_of_the_panel():
    asked = panel(series(), y_scale="log", x_range=(0.0, 9.0), y_range=(0.1, 100.0))
    (axes,) = draw_panels([asked], columns=1).axes
    assert (axes.get_yscale(), axes.get_xlim(), axes.get_ylim()) == ("log", (0, 9), (0.1, 100))


@pytest.mark.parametrize(
    ("columns", "width"), [(1, ONE_COLUMN), (2, TWO_COLUMNS), (3, TWO_COLUMNS)]
)
def test_a_figure_has_the_width_of_a_journal_s_columns(columns, width):
    assert draw_panels([panel(series())] * 3, columns).get_figwidth() == width


@pytest.mark.parametrize(
    "draw",
    [
        lambda: draw_panels([panel(*named_series(9, "a method with a long name"))], columns=1),
        lambda: draw_panels([panel(*named_series(9, "method"))] * 4, columns=2),
        lambda: draw_forest(EFFECTS, "difference"),
    ],
    ids=["one column", "two columns", "forest"],
)
def test_the_legend_is_on_the_paper_and_hides_no_axes(draw):
    figure = draw()
    figure.draw_without_rendering()  # only then has everything its place
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_a_long_legend_takes_no_room_from_the_axes():
    def axes_height(count: int) -> float:
        figure = draw_panels([panel(*named_series(count, "a method with a long name"))], columns=1)
        figure.draw_without_rendering()
        return figure.axes[0].get_window_extent().height

    assert axes_height(9) == pytest.approx(axes_height(1), rel=0.1)


def test_an_effect_shows_its_value_its_interval_and_its_verdict():
    figure = draw_forest(EFFECTS, "difference of speed")
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == [
        "0.030 [0.010, 0.050]",
        "−0.020 [−0.030, −0.012]",
        "0.010",
    ]
    assert [text.get_text() for text in axes.get_yticklabels()] == [e.label for e in EFFECTS]
    assert legend_texts(figure) == ["supported", "not supported", "undecided"]


def test_verdicts_of_effects_differ_without_their_colours():
    (axes,) = draw_forest(EFFECTS, "difference").axes
    marks = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert len({str(line.get_marker()) for line in marks}) == 3


def test_the_first_effect_is_on_top_and_zero_is_drawn():
    (axes,) = draw_forest(EFFECTS, "difference").axes
    heights = axes.transData.transform([(0, tick) for tick in axes.get_yticks()])[:, 1]
    assert (np.diff(heights) < 0).all()
    assert np.array_equal(axes.lines[0].get_xdata(), [0, 0])


@pytest.mark.parametrize("value", [0.0, 123.0, 4e-7])
def test_numbers_of_any_size_are_written_so_that_they_can_be_told_apart(value):
    effects = [Effect(str(n), Interval(n * value, NAN, NAN), "undecided") for n in (1, 2, 3)]
    (axes,) = draw_forest(effects, "difference").axes
    written = [float(text.get_text()) for text in axes.texts]
    assert written == pytest.approx([value, 2 * value, 3 * value], rel=0.05)


@pytest.mark.parametrize("file_format", ["png", "svg", "pdf"])
def test_the_same_data_gives_the_same_bytes_whatever_the_user_s_settings(file_format, monkeypatch):
    def save() -> bytes:
        return figure_bytes(draw_panels([panel(series())], columns=1), file_format)

    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    first = save()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")  # thirty years later
    with rc_context({"lines.linewidth": 5, "font.size": 20, "savefig.facecolor": "red"}):
        assert save() == first


def test_saving_a_figure_again_changes_nothing():
    figure = draw_forest(EFFECTS[:1], "difference")  # so flat that layouts do not agree
    first = figure_bytes(figure, "svg")
    figure_bytes(figure, "pdf")
    assert figure_bytes(figure, "svg") == first


def test_a_panel_without_runs_says_so():
    [axes] = draw_panels([panel()], columns=1).axes
    assert [text.get_text() for text in axes.texts] == ["no runs"]

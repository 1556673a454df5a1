from pathlib import Path

import numpy as np
import pytest

from fmarl.errors import BadInput
from fmarl.report.figures import (
    FORMATS,
    PlotCurve,
    draw_graph,
    draw_measured,
    draw_sweep,
    save_figure,
)
from fmarl.topology import ring


@pytest.mark.parametrize("ending", FORMATS)
def test_a_graph_is_drawn_in_every_format(tmp_path: Path, ending):
    path = tmp_path / f"ring{ending}"
    save_figure(draw_graph(ring(7).edges, 7, title="ring"), path)
    assert path.stat().st_size > 1000


def test_the_same_figure_gives_the_same_bytes(tmp_path: Path):
    paths = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in paths:
        save_figure(draw_graph(ring(5).edges, 5, title="ring"), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_graph_has_a_line_per_edge():
    figure = draw_graph(ring(7).edges, 7, title="ring")
    assert len(figure.axes[0].lines) == 7


def test_a_sweep_hides_what_is_not_admissible():
    figure = draw_sweep(
        [1, 2, 3],
        [PlotCurve("printed", [1.0, 2.0, 3.0], "printed")],
        title="t",
        label="τ",
        here=2,
        infeasible_from=5.0,
        admissible=[True, False, True],
    )
    _, solid = figure.axes[0].lines[:2]
    assert np.array_equal(solid.get_ydata(), [1.0, np.nan, 3.0], equal_nan=True)


def test_measured_curves_get_a_panel_each():
    panels = [(name, [PlotCurve("truth", [3.0, 2.0], "measured")]) for name in ("a", "b")]
    figure = draw_measured(panels, updates=[10, 100])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["a", "b"]


def test_a_wrong_ending_and_a_missing_folder_get_one_line(tmp_path: Path):
    figure = draw_graph(ring(3).edges, 3, title="ring")
    with pytest.raises(BadInput, match=r"\.gif"):
        save_figure(figure, tmp_path / "ring.gif")
    with pytest.raises(BadInput, match="No such file"):
        save_figure(figure, tmp_path / "none" / "ring.png")

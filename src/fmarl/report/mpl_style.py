"""What figures at the size of a printed paper have in common: type, widths, files, legends."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Literal

from matplotlib import style
from matplotlib.artist import Artist
from matplotlib.figure import Figure

ONE_COLUMN, TWO_COLUMNS = 3.5, 7.16
"""Widths of a figure in the paper's journal, in inches."""

FONT_POINTS = 8
PAPER: list[Any] = [
    "default",  # the same figure on every machine, whatever its matplotlibrc says
    {
        "font.size": FONT_POINTS,
        "axes.titlesize": "medium",
        "legend.fontsize": "medium",
        "axes.linewidth": 0.6,
        "xtick.major.width": 0.6,
        "ytick.major.width": 0.6,
        "pdf.fonttype": 42,  # journals refuse the default, Type 3
        "svg.hashsalt": "fmarl",
    },
]

GREY = "#525252"

FileFormat = Literal["png", "svg", "pdf"]
UNSIGNED: dict[str, dict[str, None]] = {
    "png": {"Software": None},
    "svg": {"Creator": None, "Date": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""What matplotlib would write into a file about itself and the time of day: left out."""


def figure_bytes(figure: Figure, file_format: FileFormat) -> bytes:
    """A file of the figure at its own size; the same figure gives the same bytes."""
    file = BytesIO()
    with style.context(PAPER):
        if figure.get_layout_engine() is not None:
            # Laid out once and for all: each layout starts from the last, and would differ.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
        figure.savefig(file, format=file_format, dpi=300, metadata=UNSIGNED[file_format])
    return file.getvalue()


def put_legend_above(figure: Figure, handles: Sequence[Artist], handle_length: float) -> None:
    """A legend outside of all axes, where it hides nothing; the figure grows by its height."""
    if not handles:
        return
    longest = max(len(str(handle.get_label())) for handle in handles)
    entry_points = FONT_POINTS * (handle_length + 2.5 + 0.57 * longest)  # with the gaps around
    fitting = int(72 * figure.get_figwidth() / entry_points)
    columns = max(1, min(fitting, len(handles)))
    lines = -(-len(handles) // columns)
    figure.set_figheight(figure.get_figheight() + 0.17 * lines)
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=columns,
        frameon=False,
        handlelength=handle_length,
        columnspacing=1.2,
    )

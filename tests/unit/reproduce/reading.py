"""What stands in the tables of a report."""

from fmarl.report.page import Section, Table, Text
from fmarl.report.page import Verdict as Badge


def tables_of(section: Section) -> list[Table]:
    """All tables of a section, in order."""
    return [block for block in section.blocks if isinstance(block, Table)]


def word_of(cell: Text) -> str:
    """A verdict without its effect; what has no verdict as it is."""
    return next((one.word for one in cell if isinstance(one, Badge)), str(cell))

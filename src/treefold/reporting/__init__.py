"""The report: one HTML file that needs nothing else.

    wording                 text from data, made readable
    charts, curves          drawings by Vega-Lite; the numbers behind them
    material                what a report is made of
    answer, path, diagram, held_out, costs, columns, dependence, rules, profile, card
                            the sections, in their order
    page, templates/        the page

Nothing in a report is fetched from anywhere.
"""

import os

from treefold.atomic import written_atomically
from treefold.reporting.material import Material
from treefold.reporting.page import write_page

__all__ = ["write"]


def write(material: Material, path: str | os.PathLike[str]) -> None:
    """Write a report; the file is there whole or not at all."""
    page = write_page(material).encode()
    with written_atomically(path) as file:
        file.write(page)

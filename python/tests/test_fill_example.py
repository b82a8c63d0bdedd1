"""The example that draws a filter's fill."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "python" / "fill.py"


def test_it_loses_what_it_expects_to_and_draws_it(tmp_path: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, EXAMPLE, "a.svg"], cwd=tmp_path, capture_output=True, text=True, check=True)
    rows = [line.replace(",", "").split() for line in done.stdout.splitlines()[1:-1]]
    assert [int(row[0]) for row in rows] == [10_000, 20_000, 30_000, 40_000]
    fills = [float(row[1].rstrip("%")) for row in rows]
    assert fills == sorted(fills) and 40 < fills[1] < 60
    for _, _, expected, measured in rows[1:]:
        assert 0.7 < float(measured) / float(expected) < 1.3
    drawing = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert len(drawing.findall("{http://www.w3.org/2000/svg}polyline")) == 2

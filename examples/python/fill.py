# %% [markdown]
# How a filter fills, and what it loses on the way: `python examples/python/fill.py [fill.svg]`. Each `# %%` is a cell of a notebook.
"""Fills a filter to twice its capacity, and draws how full it is and how many URLs it has lost: expected, and measured."""

# %%
from __future__ import annotations

import pathlib
import sys

from crawler_frontier import SeenSet

CAPACITY, RATE, STEPS = 20_000, 0.01, 40
seen = SeenSet(CAPACITY, RATE, on_full="warn", raw=True)

# %% Fill it in steps, and note its numbers after each.
rows: list[tuple[int, float, float, float]] = []
for step in range(1, STEPS + 1):
    shown = 2 * CAPACITY * step // STEPS
    seen.add_many([f"https://example.org/{n}" for n in range(2 * CAPACITY * (step - 1) // STEPS, shown)])
    merged = seen.statistics()["merged"]
    audit = merged["audit"]
    assert audit is not None, "a filter that loses URLs has an audit, unless it was made without one"
    rows.append((shown, merged["fill_ratio"], merged["expected_lost"], audit["lost"]))

print(f"{'URLs':>8} {'filled':>8} {'lost, expected':>15} {'measured':>9}")
for shown, fill, expected, lost in rows[STEPS // 4 - 1 :: STEPS // 4]:
    print(f"{shown:>8,} {fill:>8.1%} {expected:>15.1f} {lost:>9.0f}")


# %% Draw the two: the fill from 0 to 1, and the share of URLs that were lost so far.
def line(values: list[float], color: str) -> str:
    top = max(values)
    points = " ".join(f"{10 + 580 * at / len(values):.1f},{290 - 270 * value / top:.1f}" for at, value in enumerate(values, 1))
    return f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>'


def label(row: int, color: str, text: str) -> str:
    return f'<text x="20" y="{25 + 18 * row}" fill="{color}" font-family="sans-serif" font-size="13">{text}</text>'


full = 10 + 580 * CAPACITY / (2 * CAPACITY)
drawing = [
    '<svg xmlns="http://www.w3.org/2000/svg" width="600" height="300">',
    f'<line x1="{full}" y1="10" x2="{full}" y2="290" stroke="gray" stroke-dasharray="4"/>',
    line([fill for _, fill, _, _ in rows], "steelblue"),
    line([lost / shown for shown, _, _, lost in rows], "firebrick"),
    label(0, "steelblue", f"bits set, up to {rows[-1][1]:.0%}"),
    label(1, "firebrick", f"URLs lost, measured, up to {rows[-1][3] / rows[-1][0]:.1%}"),
    label(2, "gray", f"capacity: {CAPACITY:,} URLs at {RATE}"),
    "</svg>",
]
path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "fill.svg")
path.write_text("\n".join(drawing))
print(f"drawn to {path}")

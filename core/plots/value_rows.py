"""Samples per base value on one scale, zeros kept, so that an absence is visible."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from core.plots.style import BLUE, PADDING, RISK, axis, muted
from core.seed_table import SeedTable


def value_rows(table: SeedTable, dimension: str, dark: bool = False, width: int = 230) -> alt.LayerChart:
    """Bars of samples per base value of one dimension; the scale is that of all samples, the same for every dimension."""
    odd = table.odd
    k = odd.names.index(dimension)
    n = np.zeros(odd.codec.sizes[k], dtype=np.int64)
    np.add.at(n, table.codes[:, k], table.n)
    data = pd.DataFrame([{"value": v.name, "n": int(n[odd.codec.code_of[k][v.name]])} for v in odd.dimensions[k].base])
    data["text"] = data["n"].map("{:,}".format)
    base = alt.Chart(data).encode(y=alt.Y("value:N", sort=list(data["value"]), axis=axis(labelLimit=130, minExtent=100, maxExtent=130)))
    x = alt.X("n:Q", axis=None, scale=alt.Scale(domain=[0, max(table.total, 1) * 1.25]))
    return (
        alt.layer(
            base.mark_bar(height=9, color=BLUE, cornerRadiusEnd=2).encode(x=x),
            base.transform_filter("datum.n == 0").mark_tick(color=RISK, thickness=3, height=13).encode(x=alt.value(1)),
            base.mark_text(align="left", dx=5, fontSize=11).encode(
                x="n:Q", text="text:N", color=alt.condition("datum.n == 0", alt.value(RISK), alt.value(muted(dark)))
            ),
        )
        .properties(width=width, height=alt.Step(17), padding=PADDING)
        .configure_view(stroke=None)
    )

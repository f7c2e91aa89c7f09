"""Charts that are as wide as their place."""

from __future__ import annotations

import altair as alt
import streamlit as st


def wide(chart: alt.LayerChart, key: str) -> None:
    """Show a chart in the whole width, its labels within it; charts of a fixed size would stick out at the right."""
    st.altair_chart(chart.properties(autosize={"type": "fit-x", "contains": "padding"}), width="stretch", key=key)

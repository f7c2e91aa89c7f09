"""Campaigns as files, with what OpenSCENARIO cannot say of them."""

from __future__ import annotations

from importlib.util import find_spec

import streamlit as st

from core import operators
from core.acquisition.mapping import driving_mapping
from core.acquisition.openscenario import PINNED, lost
from core.operators import CampaignSheet
from core.plots import plain
from pages.shared import shell
from pages.shared.markup import code, fill, strong
from pages.shared.markup import table as plain_table


def downloads(x: CampaignSheet) -> None:
    """Three files; each is made when it is asked for."""
    stem = "".join(c if c.isalnum() or c in "-_" else "-" for c in x.name).strip("-") or "campaign"
    st.download_button(
        "CSV", lambda: operators.campaign_csv(x), f"{stem}.csv", "text/csv", key="campaign_csv", on_click="ignore", width="stretch"
    )
    st.download_button(
        "JSON, with the manifest",
        lambda: operators.campaign_json(x),
        f"{stem}.json",
        "application/json",
        key="campaign_json",
        on_click="ignore",
        width="stretch",
    )
    if find_spec("scenariogeneration") is None:
        shell.note(fill("OpenSCENARIO needs the package scenariogeneration: {fix}", fix=code(f'pip install "{PINNED}"')))
    else:
        st.download_button(
            "OpenSCENARIO XML",
            lambda: operators.campaign_openscenario(x).as_zip(),
            f"{stem}.zip",
            "application/zip",
            key="campaign_zip",
            on_click="ignore",
            width="stretch",
            help="One environment per slice: time of day, sun, clouds, precipitation, fog, friction and wetness of the road.",
        )
    _not_written(x)


def _not_written(x: CampaignSheet) -> None:
    missing = lost(x.slices, driving_mapping())
    if not missing:
        shell.note("OpenSCENARIO says every value of these slices.")
        return
    whole: dict[tuple[str, str], list[str]] = {}
    for item in missing:
        if item.fit == "none":
            whole.setdefault((item.dimension, item.why), []).append(item.value)
    lines = [(strong(plain(d)), ", ".join(map(plain, values)), "not written", why) for (d, why), values in whole.items()]
    lines += [(strong(plain(i.dimension)), plain(i.value), "in part", i.why) for i in missing if i.fit == "part"]
    shell.section("What OpenSCENARIO does not say")
    shell.html(plain_table(["Dimension", "Values", "", "Why"], lines))
    shell.note("All values stand in the parameter declarations of each file.")

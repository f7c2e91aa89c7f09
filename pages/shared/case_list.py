"""The cases of a set as a table that can be narrowed, with how many each choice holds, and one of them shown in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from core.operators import labelling, outside, threats
from core.storage import SavedCaseSet
from core.trajectories.case import Case
from core.trajectories.case_set import CaseSet
from core.trajectories.filters import FilterCount, filter_counts
from core.trajectories.measure import Metric, MetricTable
from pages.shared import case_picture, case_sets, shell, state
from pages.shared.markup import Text, code, count, fill, strong, table

CASE = "case"
"""Query parameter: place of the case that is shown in its set, from 1."""
FAR_M = 3.0
"""Distance at the end from which the headline counts a case."""
LONG_NAME = 16
"""Letters of a scene's name in the headline."""
_REASONS = 3
"""Reasons for empty cells that are told below the table."""
WHAT = {
    "open_future": "People accepted futures that lie apart.",
    "trivial_expert": "The expert drove straight on at one speed, or stood.",
    "bad_calibration": "A camera's parameters cannot be right.",
}
"""What the flags mean that a rule sets; others come from the source or from the checks of the import."""
ROLES = {"labelling": "to be labelled", "training": "training", "calibration": "calibration", "example": "worked example"}


@dataclass(frozen=True)
class Filter:
    """What is shown of a set.

    Attributes:
        shown: The cases, in their order.
        left_out: Cases that a choice or a flag leaves out.
    """

    shown: tuple[Case, ...]
    left_out: int


def numbered(saved: SavedCaseSet, content: CaseSet) -> tuple[Case, ...]:
    """The cases with the numbers from outside that were added to the set.

    Raises:
        InputError: A file of numbers is gone.
    """
    return _numbered(state.store().db.name, saved.id, saved.digest, _files(saved), content)


def _files(saved: SavedCaseSet) -> tuple[str, ...]:
    return tuple(f.sha256 for f in outside.outside_files(state.store(), saved.id))


@st.cache_resource(show_spinner=False, max_entries=4)
def _numbered(database: str, set_id: str, digest: str, files: tuple[str, ...], _content: CaseSet) -> tuple[Case, ...]:
    del database, digest, files  # only keys of the cache
    return outside.with_outside(state.store(), set_id, _content.cases)


def measured(saved: SavedCaseSet, content: CaseSet) -> MetricTable:
    """The metrics of a set, computed once.

    Raises:
        InputError: A planner has a scene twice.
    """
    return _measured(state.store().db.name, saved.id, saved.digest, _files(saved), numbered(saved, content))


@st.cache_resource(show_spinner="Measuring the cases.", max_entries=4)
def _measured(database: str, set_id: str, digest: str, files: tuple[str, ...], _cases: tuple[Case, ...]) -> MetricTable:
    del database, set_id, digest, files  # only keys of the cache
    return threats.measure_cases(_cases)


def filters(content: CaseSet) -> Filter:
    """The choices; each says how many cases it holds."""
    cases = content.cases
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="case_bar"):
        planners = _choice("Planner", "planner", (c.planner_id for c in cases))
        commands = _choice("Command", "command", (c.command for c in cases))
        cameras = _choice("Cameras", "cameras", (str(len(c.cameras)) for c in cases))
        roles = _choice("For", "role", (_role(c) for c in cases)) if len({_role(c) for c in cases}) > 1 else []
        without = _choice("Leave out", "without", (f for c in cases for f in c.flags), "no flag") if any(c.flags for c in cases) else []
    wanted = lambda c: (  # noqa: E731
        (not planners or c.planner_id in planners)
        and (not commands or c.command in commands)
        and (not cameras or str(len(c.cameras)) in cameras)
        and (not roles or _role(c) in roles)
        and not set(without) & set(c.flags)
    )
    shown = tuple(c for c in cases if wanted(c))
    return Filter(shown, len(cases) - len(shown))


def _choice(label: str, key: str, values: Iterable[str], none_chosen: str = "all") -> list[str]:
    """Values of one property with how many cases each holds; the address names them without the counts, so that it can be shared."""
    counts, widget = Counter(values), f"case_{key}"
    if widget not in st.session_state:
        st.session_state[widget] = [v for v in st.query_params.get_all(key) if v in counts]

    def chosen() -> None:
        st.query_params[key] = st.session_state[widget]

    text = lambda v: f"{v.replace('_', ' ')} ({counts[v]:,})"  # noqa: E731
    known = [v for v in st.session_state[widget] if v in counts]  # those of another set are dropped
    if known != st.session_state[widget]:
        st.session_state[widget] = known
    return st.multiselect(label, sorted(counts), format_func=text, key=widget, on_change=chosen, placeholder=none_chosen)


def _role(case: Case) -> str:
    return str(case.source.get("role") or "labelling")


def frame(cases: Sequence[Case], numbers: MetricTable) -> pd.DataFrame:
    """One row a case: what it is, and its metrics where they are known."""
    errors = {m.key for m in numbers.metrics if m.key.startswith(("ade_", "fde_")) and m.key.endswith("_expert")}
    keys = [m for m in numbers.metrics if m.key in errors | {"rfs"} or m.worse is None]
    rows = [
        {
            "Scene": c.scene_id,
            "Planner": c.planner_id.replace("_", " "),
            "Command": c.command,
            "Cameras": len(c.cameras),
            "Horizon, s": c.horizon_s,
            **{m.label: numbers.values[m.key][c.planner_id][c.scene_id].value for m in keys},
            "Flags": ", ".join(f.replace("_", " ") for f in c.flags),
        }
        for c in cases
    ]
    found = pd.DataFrame(rows)
    return found.dropna(axis="columns", how="all") if rows else found


def lacking(cases: Sequence[Case], numbers: MetricTable, columns: Collection[str]) -> list[str]:
    """Why cells of a table have no number, each reason with its cases, the most frequent first."""
    reasons: Counter[tuple[str, str]] = Counter()
    for m in numbers.metrics:
        if m.label in columns:
            found = (numbers.values[m.key][c.planner_id][c.scene_id] for c in cases)
            reasons.update((m.label, x.reason) for x in found if x.value is None)
    return [f"{label} of {count(n, 'case')}: {why}" for (label, why), n in reasons.most_common()]


def show(saved: SavedCaseSet, content: CaseSet, numbers: MetricTable, found: Filter) -> None:
    """The table; a click opens a case below it."""
    out = f"; {count(found.left_out, 'case')} left out by the choices above" if found.left_out else ""
    shell.section("Cases", f"{len(found.shown):,} of {len(content.cases):,}{out}; a click opens one")
    if not found.shown:
        shell.empty("No case is left. Take a choice back.")
        return
    data = frame(found.shown, numbers)
    metrics = [m.label for m in numbers.metrics if m.label in data.columns]
    config = {m: st.column_config.NumberColumn(format="%.2f") for m in metrics} | {"Horizon, s": st.column_config.NumberColumn(format="%g")}
    event = st.dataframe(
        data, hide_index=True, placeholder="–", height=min(320, 38 + 35 * len(data)), column_config=config, on_select="rerun",
        selection_mode="single-row", key=f"case_table-{saved.id}-{len(found.shown)}",
    )  # fmt: skip
    if why := lacking(found.shown, numbers, metrics):
        more = f" And {count(len(why) - _REASONS, 'more reason', 'more reasons')}." if len(why) > _REASONS else ""
        shell.note(f"– : no number. {' '.join(why[:_REASONS])}{more}")
    place = {c.case_id: i for i, c in enumerate(content.cases, 1)}
    if chosen := event["selection"]["rows"]:
        st.query_params[CASE] = str(place[found.shown[chosen[0]].case_id])
    case = _open(content) or found.shown[0]
    one(content, case, numbers)


def _open(content: CaseSet) -> Case | None:
    """The case that the address names."""
    wanted = st.query_params.get(CASE, "")
    return content.cases[int(wanted) - 1] if wanted.isdecimal() and 0 < int(wanted) <= len(content.cases) else None


def one(content: CaseSet, case: Case, numbers: MetricTable) -> None:
    """A case with its pictures and numbers; a known answer is not told, since whoever labels may come by."""
    title = fill("Scene {s}, planner {p}", s=case.scene_id, p=case.planner_id.replace("_", " "))
    with shell.card(title, case_picture.view(content, case)["question"].removesuffix(" Is that a threat?"), key="case_one"):
        several = len(case.cameras) > 1 and st.toggle(f"All {len(case.cameras)} cameras", key="all_cameras", bind="query-params")
        case_picture.show(content, case, key=f"case-{case.case_id}", all_cameras=several)
        left, right = st.columns(2, gap="large")
        with left:
            shell.section("Metrics", "of this case")
            rows = []
            for m in numbers.metrics:
                x = numbers.values[m.key][case.planner_id][case.scene_id]
                rows.append([m.label, "–" if x.value is None else f"{x.value:.2f} {m.unit}".strip(), x.reason])
            shell.html(table(["Metric", "Value", "What to know of it"], rows, right=(1,)))
        with right:
            shell.section("Data", "as imported")
            shell.html(table(["", ""], [[strong(k), v] for k, v in _facts(case)]))


def _facts(case: Case) -> list[tuple[str, Text]]:
    known = {"others": case.agents, "map": case.map, "static objects": case.static_objects, "signals": case.signals}
    layers = [f"{name}: {'not looked for' if x is None else len(x.items)}" for name, x in known.items()]
    ego = case.ego
    return [
        ("Case", code(case.case_id)),
        ("For", ROLES.get(_role(case), _role(case))),
        ("Step, horizon", f"{case.dt_s:g} s, {case.horizon_s:g} s; origin: {ego.origin.replace('_', ' ')}"),
        ("Speed at 0 s", f"{ego.speed_mps:.1f} m/s"),
        ("Cameras", ", ".join(c.name.replace("_", " ") for c in case.cameras) or "none"),
        ("Layers", "; ".join(layers)),
        ("Rated paths", f"{len(case.rated):,}, with a score: {sum(r.score is not None for r in case.rated):,}"),
        ("Flags", ", ".join(f.replace("_", " ") for f in case.flags) or "none"),
        ("Licence", case.licence or "not stated"),
        ("Source", str(case.source.get("dataset", "")) or ("made up" if case.synthetic else "not stated")),
    ]


def leave_out(saved: SavedCaseSet, content: CaseSet) -> None:
    """How many cases each flag holds, and which flags keep a case from being labelled."""
    counts = _flags(content.digest, content)
    shell.section("Flags", "set on import; a case with a flag is labelled all the same until somebody says otherwise")
    rows = [
        [strong(f.replace("_", " ")), WHAT.get(f, "From the source, or from the checks of the import."), f"{x.flagged:,}", f"{x.passed:,}",
         f"{x.unknown:,}"]
        for f, x in counts.items()
    ]  # fmt: skip
    shell.html(table(["Flag", "What it says", "Flagged", "Not flagged", "Cannot tell"], rows, right=(2, 3, 4)))
    flags = {f: x.flagged for f, x in counts.items() if x.flagged}
    if not flags:
        return
    now = [f for f in labelling.left_out(state.store(), saved.id) if f in flags]
    text = lambda f: f"{f.replace('_', ' ')} ({flags[f]:,})"  # noqa: E731
    wanted = st.multiselect(
        "Not to be labelled", sorted(flags), now, format_func=text, key=f"left_out-{saved.id}", placeholder="no flag", width=420
    )
    if sorted(wanted) != sorted(now):
        labelling.leave_out(state.store(), saved.id, wanted)
        st.rerun()


@st.cache_data(show_spinner=False, max_entries=8)
def _flags(digest: str, _content: CaseSet) -> dict[str, FilterCount]:
    del digest  # only a key of the cache
    return filter_counts(_content.cases)


def _end(numbers: MetricTable) -> Metric:
    """The final displacement that most cases have; the longest horizon of those."""
    finals = [m for m in numbers.metrics if m.key.startswith("fde_") and m.key.endswith("_expert")]
    return max(finals, key=lambda m: (sum(x.value is not None for of in numbers.values[m.key].values() for x in of.values()), m.key))


def _seconds(metric: Metric) -> str:
    """When it is measured, such as "5 s"."""
    return metric.key.split("_")[1].removesuffix("s") + " s"


def headline(saved: SavedCaseSet, numbers: MetricTable) -> Text:
    """How far planners end from the expert, over the cases of the set."""
    end = _end(numbers)
    ends = [(x.value, p, s) for p, of in numbers.values[end.key].items() for s, x in of.items() if x.value is not None]
    if not ends:
        return fill("{n}; none of them is long enough to say how far the planner ends from the expert.", n=count(saved.cases, "case"))
    far = sum(v > FAR_M for v, _, _ in ends)
    value, planner, scene = max(ends)
    return fill(
        "In {k} of {n} the planner is more than {m:g} m from the expert after {t}; the farthest is {p} in {s}, {v}.",
        k=strong(f"{far:,}"), n=count(len(ends), "case"), m=FAR_M, t=_seconds(end), p=planner.replace("_", " "),
        s=scene if len(scene) <= LONG_NAME else scene[:LONG_NAME] + "…", v=strong(f"{value:.1f} m"),
    )  # fmt: skip


def provenance(saved: SavedCaseSet, content: CaseSet, numbers: MetricTable) -> Text:
    """Set, scenes, planners, and cases that the headline leaves out."""
    end = _end(numbers)
    of = numbers.values[end.key]
    without = sum(x.value is None for scenes in of.values() for x in scenes.values())
    licences = sorted({c.licence or "licence not stated" for c in content.cases})
    return fill(
        "{n} of {s} by {p}. Without a distance at {t}: {w}. {set} {l}.",
        n=count(len(content.cases), "case"), s=count(len({c.scene_id for c in content.cases}), "scene"), p=count(len(of), "planner"),
        t=_seconds(end), w=f"{without:,}", set=case_sets.provenance(saved),
        l=", ".join(licences[:3]) + (" and more" if len(licences) > 3 else ""),
    )  # fmt: skip

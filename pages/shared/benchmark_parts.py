"""The parts of the page "Compare methods": the finding, the figures with their intervals, curves and frontier."""

from __future__ import annotations

import json
from collections.abc import Callable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core import operators
from core.benchmark import BY_NAME, REFERENCE, Row
from core.operators import BenchmarkResult
from core.plots.benchmark import regret_curves
from core.plots.frontier import frontier
from core.storage import SavedTable
from pages.shared import jobs, shell, start, state
from pages.shared.benchmark_controls import View
from pages.shared.jobs import Job
from pages.shared.markup import Markup, Text, chip, code, fill, mark, table
from pages.shared.shell import Action

NAME = "Compare methods"
NEEDED = (
    "An oracle is a second table over the same dimensions: other samples of the same model, in slices that this table has not tested. "
    "It judges which method would have sent you to the failures."
)


def without_oracle(current: SavedTable) -> None:
    """Say what is needed, offer the demo's oracle where the demo is in use, and end the run."""
    actions = [Action("upload", "Upload an oracle", "primary", page=start.SEED_TABLES)]
    if current.synthetic:
        actions.insert(0, Action("demo_oracle", "Use the demo's oracle"))
    prov = fill("{n} Table in use: {t}.", n=NEEDED, t=current.name)
    clicked = shell.header(NAME, "No oracle yet, so no method can be judged.", prov, actions, synthetic=current.synthetic)
    if clicked == "demo_oracle":
        operators.load_demo_oracle(state.store())
        st.rerun()
    shell.empty(
        "Here you will see how much of the oracle's risk each method of ranking finds, how diverse its list is, and how sure that is. "
        "Without an oracle, the same can be tried on made-up ones: python -m core compare --synthetic suite."
    )
    st.stop()


def compared(current: SavedTable, view: View, show: Callable[[Job], None]) -> BenchmarkResult:
    """The comparison, made once per pair of tables and setting in a thread of its own.

    Raises:
        InputError, MissingPackageError: See `core.operators.benchmark`.
    """
    store, settings, oracle = state.store(), state.settings(), view.oracle

    def work(report: jobs.Report) -> BenchmarkResult:
        return operators.benchmark(
            operators.saved_side(store, current.id),
            operators.saved_side(store, oracle.id),
            settings,
            mode=view.mode,
            budgets=view.budgets,
            methods=view.methods,
            scope=view.scope,
            allow_shared=view.allow_shared,
            progress=report,
        )

    key = ("benchmark", store.db.name, settings, current.id, current.digest, oracle.id, oracle.digest, view)
    result: BenchmarkResult = jobs.outcome(key, work, show)
    return result


class Waiting:
    """Head and bar while methods run; nothing is drawn before it is needed."""

    def __init__(self, top: DeltaGenerator, below: DeltaGenerator, current: SavedTable) -> None:
        self.top, self.below, self.current = top, below, current
        self.drawn: list[DeltaGenerator] = []

    def show(self, job: Job) -> None:
        """Tell how far the work is."""
        if not self.drawn:
            self.drawn = [self.top.empty(), self.below.empty(), self.below.empty()]
            with self.drawn[0].container():
                prov = fill("You can leave this page; the work goes on and its result is kept. Table {t}.", t=code(self.current.digest[:6]))
                shell.header(NAME, "Comparing methods.", prov, synthetic=self.current.synthetic)
            with self.drawn[2].container():
                shell.html(Markup('<div class="od-wait"><div></div><div></div></div>'))
        share = min(job.done / job.total, 1.0) if job.total else 0.0
        text = f"Step {job.done + 1:,} of {job.total:,}." if job.total else "Reading both tables."
        self.drawn[1].progress(share, text=text)

    def clear(self) -> None:
        """Make room for the result."""
        for place in self.drawn:
            place.empty()


def at(result: BenchmarkResult, k: int) -> list[Row]:
    """The figures of all methods at one budget."""
    return [r for r in result.comparison.rows if r.k == k]


def headline(result: BenchmarkResult, k: int) -> Text:
    """Who comes closest to the oracle at a budget, and whether that is more than chance."""
    rows = at(result, k)
    if rows[0].saturated:
        return fill("K = {k} reaches all {u} candidates, so every list is the same there.", k=f"{k:,}", u=f"{result.comparison.size:,}")
    best = min(rows, key=lambda r: (r.regret, r.method != REFERENCE))
    value = mark(f"{best.regret:.3f}")
    if best.method == REFERENCE:
        clear = all(r.difference_low is not None and r.difference_low > 0 for r in rows if r.method != REFERENCE)
        tail = "" if clear else ", but not clearly more than every other"
        return fill("At K = {k}, SliceScorer comes closest to the oracle{t}: regret {r}.", k=f"{k:,}", t=tail, r=value)
    if best.difference_high is not None and best.difference_high < 0:
        other = next(r for r in rows if r.method == REFERENCE)
        more = "a less" if best.ild < other.ild else "a more" if best.ild > other.ild else "an equally"
        return fill(
            "At K = {k}, {m} comes closest to the oracle: regret {r}, against {s} for SliceScorer, with {more} diverse list.",
            k=f"{k:,}", m=best.label, r=value, s=f"{other.regret:.3f}", more=more,
        )  # fmt: skip
    clearer = [r for r in rows if r.difference_high is not None and r.difference_high < 0]
    if clearer:
        return fill(
            "At K = {k}, {m} is clearly better than SliceScorer; the lowest regret is {r} ({b}), but less surely so.",
            k=f"{k:,}", m=min(clearer, key=lambda r: r.regret).label, r=value, b=best.label,
        )  # fmt: skip
    return fill(
        "At K = {k}, no method is clearly better than SliceScorer; the lowest regret is {r} ({m}).", k=f"{k:,}", r=value, m=best.label
    )


def provenance(current: SavedTable, view: View, result: BenchmarkResult) -> Text:
    """U, what was dropped, samples, digests."""
    c, found = result.comparison, result.candidates
    outside = view.scope == "out"
    of = "" if found.missing is None else f" of {found.missing:,} missing slices"
    shared = {None: "shared samples could not be looked for", 0: "no sample is shared"}.get(result.shared, f"{result.shared} are shared")
    return fill(
        "U: {u}{of} are covered by the oracle; of its {all} slices, {t} were tested in the seed and {b} lie {w} the ODD. {n} oracle "
        "samples, at least {least} per slice; {sh}. Seed {seed}, oracle {oracle}, {mode} similarity.",
        u=f"{c.size:,}", of=of, all=f"{found.oracle_slices:,}", t=f"{found.tested:,}", b=f"{found.beyond:,}",
        w="inside" if outside else "outside", n=f"{c.samples:,}", least=f"{c.thinnest:,}", sh=shared, seed=code(current.digest[:6]),
        oracle=code(view.oracle.digest[:6]), mode=result.manifest["similarity"]["mode"],
    )  # fmt: skip


def head(current: SavedTable, view: View, result: BenchmarkResult, k: int) -> None:
    """The finding, with the figures as files."""
    as_json = lambda: json.dumps(operators.benchmark_object(result), indent=2, ensure_ascii=False, allow_nan=False)  # noqa: E731
    actions = [
        Action("csv", "Download CSV", download=lambda: operators.benchmark_csv(result), file_name="methods.csv"),
        Action("json", "Download JSON", download=as_json, file_name="methods.json", mime="application/json"),
    ]
    synthetic = current.synthetic or view.oracle.synthetic
    shell.header(NAME, headline(result, k), provenance(current, view, result), actions, synthetic=synthetic)


def figures(result: BenchmarkResult, k: int) -> None:
    """Regret, diversity and the difference to SliceScorer of every method, lowest regret first."""
    rows = at(result, k)
    saturated = rows[0].saturated
    sub = (
        f"mean oracle risk of the best {min(k, result.comparison.size):,} candidates minus that of a list (Eq. 11); lower is better. "
        "ILD: share of dimensions in which two slices of the list differ; higher is more diverse"
    )
    shell.section(f"Regret and diversity at K = {k:,}", sub)
    if saturated:
        shell.note(
            fill("{c} K reaches U = {u}: regret is 0 for every method.", c=chip("saturated", "wait"), u=f"{result.comparison.size:,}")
        )
    ordered = sorted(rows, key=lambda r: r.regret) if not saturated else rows
    top = max((r.regret for r in rows), default=0.0) or 1.0
    reference = next((i for i, r in enumerate(ordered) if r.method == REFERENCE), None)
    columns: list[Text] = ["Method", "Regret@K; 95 % interval of the true one", "", "ILD@K", "Against SliceScorer, 95 %", "Own list"]
    shell.html(table(columns, [_line(r, top) for r in ordered], right=(1, 3, 4, 5), chosen=reference))


def _line(r: Row, top: float) -> tuple[object, ...]:
    method = BY_NAME[r.method]
    name = Markup('<span title="{}">{}</span>').format(method.what, r.label)
    if method.baseline:
        name = fill("{n} {c}", n=name, c=chip("baseline"))
    width = Markup('<span class="od-bar" style="min-width:4rem"><i style="width:{}"></i></span>').format(f"{r.regret / top:.1%}")
    against = "" if r.difference is None else _with_range(f"{r.difference:+.4f}", r.difference_low, r.difference_high, "+")
    regret = _with_range(f"{r.regret:.4f}", r.low, r.high)
    return name, regret, "" if r.saturated else width, f"{r.ild:.3f}", against, f"{r.native:,}"


def _with_range(value: str, low: float | None, high: float | None, sign: str = "") -> Markup:
    """A number and its interval in small type beside it."""
    span = "" if low is None or high is None else f"{low:{sign}.3f} to {high:{sign}.3f}"
    return Markup('{} <small class="od-quiet">{}</small>').format(value.replace("-", "−"), span.replace("-", "−"))


def curves(result: BenchmarkResult) -> None:
    """Regret over the budget."""
    shell.section("Regret at every budget", "lower is better; dotted: the budgets asked for")
    budgets = list(dict.fromkeys(r.k for r in result.comparison.rows))
    st.altair_chart(regret_curves(result.comparison.curves, budgets, shell.dark()), width="stretch", key="regret_curves")


def frontier_at(result: BenchmarkResult, k: int) -> None:
    """Regret against diversity at one budget."""
    shell.section(f"What diversity costs at K = {k:,}", "low and to the right is good; line: ridge under rising ILD floors")
    rows, line = at(result, k), [p for p in result.comparison.frontier if p.k == k]
    if rows[0].saturated:
        shell.note("At this budget every list holds every candidate, so there is nothing to trade.")
        return
    st.altair_chart(frontier(rows, line, shell.dark()), width="stretch", key="frontier")


def paper_style(result: BenchmarkResult) -> None:
    """The figures of own lists alone, apart and labelled."""
    short = [r for r in result.comparison.rows if r.native < r.k]
    if not short:
        return
    with st.expander("Paper-style figures: own lists only"):
        shell.note(
            "Only what a method lists itself counts, nothing is appended, and Eq. 11 divides by K however short the list is. Rows with K "
            "beyond the list or the candidates can only come about like this; they measure the length of a list, not its order."
        )
        lines = [(r.label, f"{r.k:,}", f"{r.native:,}", f"{r.paper_regret:.4f}", f"{r.paper_ild:.4f}") for r in short]
        shell.html(table(["Method", "K", "Own list", "Regret, paper-style", "ILD, paper-style"], lines, right=(1, 2, 3, 4)))


def small_print(result: BenchmarkResult) -> None:
    """How intervals were made, and what methods and tables had to say."""
    shell.note(f"{result.comparison.how} Differences are paired: both methods are judged by the same draws. Intervals are one at a time.")
    for text in result.notes:
        shell.note(text)

"""Where the verdicts of the page "Threat rates" come from: what people said of the case set in use, or a file."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.digest import sha256_bytes
from core.operators import labelling, threats
from core.operators.threats import SetVerdicts
from core.storage import SavedCaseSet
from core.threats import POLICIES, NatrReport, Policy
from core.threats.verdicts import RULES, Rule, verdict_lines
from pages.shared import shell, state

PEOPLE, FILE = SOURCES = ("Labels of people", "A file of verdicts")
RULE_NAMES: dict[str, str] = {"majority": "Majority", "any": "Any Y counts", "unanimous": "Unanimous"}
POLICY_NAMES: dict[str, str] = {"exclude": "Left out", "count_as_no": "Counted as no threat", "bounds": "Both ways, no single number"}


@dataclass(frozen=True, eq=False)
class Source:
    """What was chosen.

    Attributes:
        kind: Labels of people, or a file.
        rule: How several labels become one.
        policy: What becomes of scenes without a verdict.
        found: The verdicts; None while no file is given.
        report: Their rates; None without a verdict.
    """

    kind: str
    rule: Rule
    policy: Policy
    found: SetVerdicts | None
    report: NatrReport | None


def controls(saved: SavedCaseSet) -> Source:
    """Draw the choices, and count by them.

    Raises:
        InputError: The file cannot be used.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="threat_bar"):
        kind = st.selectbox("Verdicts from", SOURCES, key="source", bind="query-params", width=210)
        rule: Rule = "majority"
        if kind == PEOPLE:
            rule = st.selectbox(
                "Several labels", list(RULES), format_func=RULE_NAMES.__getitem__, key="rule", bind="query-params", width=160
            )
        policy: Policy = st.selectbox(
            "Scenes without a verdict", list(POLICIES), format_func=POLICY_NAMES.__getitem__, key="policy", bind="query-params", width=230
        )
    found: SetVerdicts | None
    if kind == PEOPLE:
        found = _of_people(saved, rule)
    else:
        file = st.file_uploader("JSON Lines: case_id, status, threats", key="verdict_file")
        found = None if file is None else _of_file(saved, file.getvalue())
    report = None if found is None or not found.verdicts else _rates(saved, kind, rule, policy, found)
    return Source(kind, rule, policy, found, report)


def _of_people(saved: SavedCaseSet, rule: Rule) -> SetVerdicts:
    store = state.store()
    return _labels(store.db.name, saved.id, labelling.basis(store, saved.id), rule)


@st.cache_resource(show_spinner=False, max_entries=16)
def _labels(database: str, set_id: str, basis: str, rule: Rule) -> SetVerdicts:
    del database, basis  # only keys of the cache
    return threats.verdicts_of_labels(state.store(), set_id, rule)


def _of_file(saved: SavedCaseSet, data: bytes) -> SetVerdicts:
    return _file(state.store().db.name, saved.id, sha256_bytes(data), data)


@st.cache_resource(show_spinner=False, max_entries=4)
def _file(database: str, set_id: str, digest: str, _data: bytes) -> SetVerdicts:
    del database, digest  # only keys of the cache
    return threats.verdicts_of_file(state.store(), set_id, _data.decode("utf-8", errors="replace"))


def _rates(saved: SavedCaseSet, kind: str, rule: Rule, policy: Policy, found: SetVerdicts) -> NatrReport:
    key = "\n".join(sorted(f"{v.case_id} {v.status} {','.join(sorted(v.threats))}" for v in found.verdicts))
    return _natr(saved.digest, kind, rule, policy, sha256_bytes(key.encode("utf-8", "surrogatepass")), found)


@st.cache_resource(show_spinner="Counting threats.", max_entries=16)
def _natr(digest: str, kind: str, rule: Rule, policy: Policy, verdicts: str, _found: SetVerdicts) -> NatrReport:
    del digest, kind, rule, verdicts  # only keys of the cache
    return threats.threat_rates(_found, policy)


def told(source: Source) -> None:
    """How the verdicts came about, in words."""
    if source.kind == PEOPLE:
        shell.note(f"{RULES[source.rule]} A reviewer's consensus goes before it. {POLICIES[source.policy]}")
    else:
        shell.note(POLICIES[source.policy])


def download(found: SetVerdicts) -> None:
    """The verdicts behind the rates, as the command `natr` and this page read them."""
    file = verdict_lines(found.verdicts)
    st.download_button("Download verdicts", file, "verdicts.jsonl", "application/jsonl", key="verdicts_out", on_click="ignore")

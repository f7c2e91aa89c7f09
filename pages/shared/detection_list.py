"""The sets of detections that there are: which one is in use, its report, and what can be done to it."""

from __future__ import annotations

import streamlit as st

from core.error_slices.detections import SourceReport
from core.operators import slices
from core.storage import SavedDetections
from pages.shared import shell, slice_sets, state
from pages.shared.markup import chip, code, count, fill, join, strong, table
from pages.shared.records import RecordList

TASKS = {"detection": "detector", "segmentation": "segmenter", "classification": "classifier"}
NEXT = "detections.next"
"""Session key of the view that comes after an import."""
_PROBLEMS = 50
"""Remarks of a reader that are listed."""


def show(used: SavedDetections | None) -> None:
    """All sets, those that share their ground truth told."""
    records = RecordList(state.store().detections, "detections", "-detections", "lies in the bin; what was said of its slices stays.")
    records.show_error()
    found = slice_sets.saved()
    shell.section("Sets of detections", f"{len(found):,}; sets on the same images and ground truth can be compared")
    for x in found:
        _line(
            x, used is not None and used.id == x.id, records, [o.name for o in found if o.truth_digest == x.truth_digest and o.id != x.id]
        )
    records.undo()
    records.bin(lambda x: fill("{name}, {n}, deleted {at}", name=strong(x.name), n=count(x.images, "image"), at=f"{x.changed_at:%Y-%m-%d}"))
    if not any(x.synthetic for x in found) and st.button("Load the demo", key="demo_detections_again"):
        with shell.errors_as_card(changed="Nothing was imported."):
            slice_sets.choose(slices.load_demo(state.store()).id)
            st.rerun()


def _line(x: SavedDetections, used: bool, records: RecordList, beside: list[str]) -> None:
    with st.container(border=True, key=f"od-detections-{x.id}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            marks = [chip("in use", "info")] if used else []
            marks += [chip("synthetic", "outline")] if x.synthetic else []
            what = "{t}{m}, {i}, {g}, {p}, digest {d}, {at} UTC"
            line = fill(
                what,
                t=TASKS.get(x.task, x.task).capitalize(),
                m="" if x.model in ("", x.name) else f" {x.model}",
                i=count(x.images, "image"),
                g=f"{x.truth:,} of ground truth",
                p=count(x.predictions, "prediction"),
                d=code(x.digest[:6]),
                at=f"{x.created_at:%Y-%m-%d %H:%M}",
            )
            with st.container(width="stretch"):
                shell.note(fill("{name} {marks} {line}", name=strong(x.name), marks=join(marks, " "), line=line))
                if beside:
                    shell.note(fill("Same images and ground truth as {names}.", names=", ".join(beside[:4]) + (" …" if beside[4:] else "")))
            if st.button("Use", key=f"use-detections-{x.id}", disabled=used, help="Show the slices of this set"):
                slice_sets.choose(x.id)
                st.rerun()
            if st.button("Slices", key=f"slices-detections-{x.id}", help="The hypotheses about this set"):
                st.switch_page(slice_sets.LIST, query_params={slice_sets.SET: x.id})
            records.rename_and_delete(x)
        if st.toggle("Report of the import", key=f"detections-report-{x.id}"):
            with shell.errors_as_card():
                content = slice_sets.opened(x)
                told(content.report)
                shell.note(
                    fill(
                        "{c}: {names}. {licence}",
                        c=count(len(content.classes), "class", "classes"),
                        names=", ".join(c.name for c in content.classes[:40]) + (" …" if len(content.classes) > 40 else ""),
                        licence=f"Licence of the images: {content.licence}." if content.licence else "No licence of the images is told.",
                    )
                )


def told(report: SourceReport) -> None:
    """What a reader met: everything counted, nothing dropped silently."""
    shell.note(fill("Format {f}, from {files}.", f=report.format, files=", ".join(report.files[:6]) + (" …" if report.files[6:] else "")))
    if report.counts:
        shell.html(table(["What was read", "How many"], [[k, f"{n:,}"] for k, n in report.counts.items()], right=(1,)))
    if report.unmapped:
        rows = [[strong(k), f"{n:,}"] for k, n in report.unmapped.items()]
        shell.html(table(["Class that nothing on the other side matches", "Boxes"], rows, right=(1,)))
    if report.problems:
        shell.section("Left out or changed", count(len(report.problems), "remark"))
        for problem in report.problems[:_PROBLEMS]:
            shell.note(problem)
        if len(report.problems) > _PROBLEMS:
            shell.note(f"and {len(report.problems) - _PROBLEMS:,} more.")
        st.download_button(
            "Download all remarks",
            "\n".join(report.problems) + "\n",
            "remarks.txt",
            "text/plain",
            key=f"remarks-{hash(report.problems)}",
            on_click="ignore",
        )

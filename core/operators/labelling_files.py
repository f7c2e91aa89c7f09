"""Labels as files: an anonymous export with a codebook, and training sets for a Prosecutor."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from core.errors import InputError
from core.labels.consensus import decisions, main_labels
from core.labels.export import FORMAT, Exported, LabelRow, band, case_code, codebook, set_code
from core.labels.label_time import label_time
from core.labels.pool import Entry
from core.labels.state import LABELLING_SLOTS, PersonState, Slot
from core.labels.training_sets import Chosen, Which, chat, choose
from core.operators.labelling_loop import asked_about, entries_for
from core.operators.labelling_people import people_of
from core.operators.labelling_results import codes, counts_for
from core.plots.case_camera import camera_picture
from core.storage import Store
from core.storage.label_events import Event, Label
from core.trajectories.case import Case
from core.trajectories.case_set import CaseSet
from core.trajectories.view import case_view


@dataclass(frozen=True)
class TrainingSet:
    """What was written.

    Attributes:
        files: Names of the files of text.
        chosen: Which cases with which answers, and why others are not in it.
        images: Images that were written.
        without_images: Examples of cases that have none.
    """

    files: tuple[str, ...]
    chosen: Chosen
    images: int
    without_images: int


def export(store: Store, set_id: str, folder: Path | None = None, *, planner: bool = False, comments: bool = False) -> Exported:
    """Makes the anonymous files of a set's labels: labels.jsonl, annotators.jsonl, codebook.md.

    Args:
        store: The workspace.
        set_id: Case set.
        folder: Where they are written; nowhere if None. Files of the same names are replaced.
        planner: Whether case id and planner are told.
        comments: Whether comments are told; they may tell who wrote them.

    Raises:
        InputError: There is no such set, nobody labelled, or the folder cannot be written.
    """
    saved, entries, people = store.cases.get(set_id), entries_for(store, set_id), people_of(store, set_id)
    names, counts = codes(store, set_id, "export"), counts_for(store, set_id, people)
    by_id = {e.case_id: e for e in entries}
    gone: Counter[str] = Counter()
    rows: list[LabelRow] = []
    for who, person in people.items():
        for slot, event in person.labels.items():
            if slot.case_id not in by_id:
                gone["labels of cases that the set does not have"] += 1
            elif slot.name not in LABELLING_SLOTS:
                gone[f"labels of the {slot.name.split(':')[0]} round"] += 1
            else:
                rows.append(_row(saved.digest, by_id[slot.case_id], names[who], slot, event, person, counts[who], comments))
        if not comments:
            gone["comments"] += sum(map(len, person.comments.values()))
    rows.sort(key=lambda r: (r.case, r.annotator, r.slot))
    decided = [
        LabelRow(
            case=case_code(saved.digest, case_id),
            scene=by_id[case_id].scene_id,
            annotator="consensus",
            label=d.label,
            slot="consensus",
            note=d.note if comments else None,
        )
        for case_id, found in sorted(decisions(people).items(), key=lambda x: case_code(saved.digest, x[0]))
        if case_id in by_id
        for d in found
    ]
    rows += decided
    if not rows:
        raise InputError("Nobody has labelled a case of this set yet, so there is nothing to export.")
    if planner:
        back = {case_code(saved.digest, e.case_id): e for e in entries}
        rows = [r.model_copy(update={"case_id": back[r.case].case_id, "planner": back[r.case].planner_id}) for r in rows]
    lines = "".join(r.line() + "\n" for r in rows)
    used = sorted({k for r in rows for k in r.model_dump(exclude_none=True)})
    head = {"Format": FORMAT, "Case set": f"{saved.name}, code {set_code(saved.digest)}", "Cases": len(entries)}
    head |= {"Data": "synthetic: made up, not recorded"} if saved.synthetic else {}
    persons = _persons(store, names, rows)
    left = {k: n for k, n in sorted(gone.items()) if n}
    files = {"labels.jsonl": lines, "annotators.jsonl": persons, "codebook.md": codebook(head, used, left)}
    out = Exported(
        files={k: v.encode() for k, v in files.items()},
        labels=sum(r.slot == "main" for r in rows),
        checks=sum(r.slot in ("repeat", "gold") for r in rows),
        decided=len(decided),
        annotators=persons.count("\n"),
        not_counting=sum(not r.counts for r in rows),
        left_out=left,
    )
    if folder is not None:
        _write(folder, out.files)
    return out


def training_set(
    store: Store, set_id: str, folder: Path | None, which: Which, *, split: float = 0.1, seed: int = 0, images: bool = True
) -> TrainingSet:
    """Makes a training set: train.jsonl, test.jsonl, manifest.json, and the critical images with both paths drawn in.

    Args:
        store: The workspace.
        set_id: Case set.
        folder: Where it is written; None only counts what would be in it.
        which: "union" or "filtered".
        split: Share of the scenes that test; those of one drive stay together.
        seed: Of the split.
        images: Whether images are written.

    Raises:
        InputError: See `core.labels.training_sets.choose`; or no case can be used, or the folder cannot be written.
    """
    people, saved = people_of(store, set_id), store.cases.get(set_id)
    counts = counts_for(store, set_id, people)
    answers: dict[str, list[Label]] = {}
    for who, of in main_labels(people).items():
        for case_id, label in of.items() if counts[who] else ():
            answers.setdefault(case_id, []).append(label)
    decided = {c: d[-1].label for c, d in decisions(people).items()}
    chosen = choose(asked_about(store, set_id), answers, decided, which, split=split, seed=seed)
    if folder is None:
        return TrainingSet((), chosen, 0, 0)
    if not chosen.examples:
        raise InputError("Not a single case has labels that can be learned from.")
    content = store.cases.open(set_id)
    cases = {c.case_id: c for c in content.cases}
    lines: dict[str, list[str]] = {"train": [], "test": []}
    written, without = 0, 0
    for x in chosen.examples:
        case, code = cases[x.entry.case_id], case_code(saved.digest, x.entry.case_id)
        paths = _pictures(content, case, code, folder) if images else []
        written += len(paths)
        without += not paths
        lines[x.part].append(chat(case, code, paths, x.target) + "\n")
    manifest = {
        "format": "image-chat JSONL",
        "set": which,
        "split": split,
        "seed": seed,
        "case_set": set_code(saved.digest),
        "synthetic": saved.synthetic,
        "examples": {p: {t: chosen.count(p, t) for t in ("Y", "N")} for p in ("train", "test")},
        "left_out": dict(chosen.left_out),
        "images": written,
        "examples_without_images": without,
    }
    files = {f"{p}.jsonl": "".join(found).encode() for p, found in lines.items()}
    files["manifest.json"] = (json.dumps(manifest, indent=1, ensure_ascii=False) + "\n").encode()
    _write(folder, files)
    return TrainingSet(tuple(files), chosen, written, without)


def _row(digest: str, entry: Entry, code: str, slot: Slot, event: Event, person: PersonState, counts: bool, comments: bool) -> LabelRow:
    payload, time = event.new.payload, label_time(event.new.payload)
    return LabelRow.model_validate(
        {
            "case": case_code(digest, entry.case_id),
            "scene": entry.scene_id,
            "annotator": code,
            "label": event.new.label,
            "slot": slot.name,
            "threats": person.tags.get(entry.case_id, ()) if slot.name == "main" else (),
            "counts": counts,
            "seconds": None if time is None else round(time.seconds, 2),
            "hidden_seconds": None if time is None else round(time.hidden_s, 2),
            "playback_n": _whole(payload.get("playback_n")),
            "magnifier_seconds": None if (ms := _whole(payload.get("magnifier_ms"))) is None else round(ms / 1000, 2),
            "keyboard": payload["keyboard"] if isinstance(payload.get("keyboard"), bool) else None,
            "taken_back": person.revoked.get(slot, 0),
            "guidance": event.new.guidance_version,
            "interface": event.new.interface_version,
            "comments": _texts(person.comments.get(entry.case_id, ())) if comments and slot.name == "main" else None,
        }
    )


def _texts(events: Sequence[Event]) -> list[str]:
    return [str(e.new.payload.get("text") or "") for e in events]


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _persons(store: Store, names: Mapping[str, str], rows: Sequence[LabelRow]) -> str:
    labels = Counter(r.annotator for r in rows if r.slot == "main")
    there = {r.annotator for r in rows}
    out = [
        {"annotator": names[a.id], "experience": band(a.experience_years), "researcher": a.researcher, "labels": labels[names[a.id]]}
        for a in store.labels.annotators()
        if names[a.id] in there
    ]
    return "".join(json.dumps(x) + "\n" for x in sorted(out, key=lambda x: str(x["annotator"])))


def _pictures(content: CaseSet, case: Case, code: str, folder: Path) -> list[str]:
    """Write the critical image of each camera with the paths drawn in; their names. A camera whose image is not there is passed over."""
    out = []
    views = {v["name"]: v for v in case_view(case)["cameras"]}
    for camera in case.cameras:
        if not camera.frames or not (source := content.image(camera.frames[-1])).is_file():
            continue
        name = f"images/{code}_{camera.name}.jpg"
        try:
            (folder / "images").mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(camera_picture(source, views[camera.name], ("planner", "expert")))
        except OSError as e:
            raise InputError(f'The image "{name}" cannot be made in "{folder}": {e.strerror or e}.') from e
        out.append(name)
    return out


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Each file whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            part = folder / f".{uuid4().hex}.part"
            part.write_bytes(data)
            part.replace(folder / name)
    except OSError as e:
        raise InputError(f'The folder "{folder}" cannot be written: {e.strerror or e}.') from e

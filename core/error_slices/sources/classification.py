"""Image classification: a CSV of image, label, prediction and, if there are any, groups and splits."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from core.error_slices.detections import ClassName
from core.error_slices.sources.class_map import proposal_for
from core.error_slices.sources.json_files import number, read_text, short
from core.error_slices.sources.name_lists import Names, read_names
from core.error_slices.sources.parsed import Labelled, Parsed, ParsedImage, Remarks
from core.errors import InputError, Problem

ALIASES: Mapping[str, tuple[str, ...]] = {
    "image": ("image", "filename", "file_name", "img_filename", "file", "path", "img", "image_path", "image_id"),
    "label": ("label", "y", "y_true", "target", "gt", "ground_truth", "true_label", "class"),
    "prediction": ("prediction", "pred", "predicted", "y_pred", "yhat", "y_hat", "predicted_label", "prediction_label"),
    "group": ("group", "group_id"),
    "id": ("id", "img_id", "image_id"),
    "split": ("split",),
}
ATTRIBUTES = ("a", "place", "attribute", "confounder", "background", "domain")
"""Columns of spurious attributes: with the label they make the groups of the usual benchmarks."""
MOST_NAMED = 5
SPLITS = {"0": "train", "1": "val", "2": "test"}


@dataclass(frozen=True)
class Table:
    """A CSV: its name, columns and records, one mapping each."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, str], ...]

    def column(self, wanted: str, role: str) -> str | None:
        """The column of a role: the wanted one, else the first of its usual names.

        Raises:
            InputError: The wanted one is not there.
        """
        if wanted:
            if wanted not in self.columns:
                raise InputError(f"{self.name}: there is no such column.", [Problem(None, role, wanted, ", ".join(self.columns))])
            return wanted
        plain = {c.strip().casefold(): c for c in reversed(self.columns)}
        return next((plain[a] for a in ALIASES[role] if a in plain), None)


@dataclass(frozen=True)
class Roles:
    """Which column is what: image, label, id, split (None if there is none) and those that make the group."""

    image: str
    label: str
    key: str
    split: str | None
    groups: tuple[str, ...]

    def group_of(self, row: Mapping[str, str]) -> str:
        """Name of the group of a row, "" for none."""
        return row[self.groups[0]] if len(self.groups) == 1 else ", ".join(f"{c} {row[c]}" for c in self.groups)


def read_table(path: Path, remarks: Remarks) -> Table:
    """A CSV with a header, separated by commas, semicolons or tabs.

    Raises:
        InputError: It cannot be read, or has no header or no record.
    """
    text = read_text(path)
    head = text.lstrip().splitlines()[0]
    separator = max(",;\t", key=head.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    try:
        records = [r for r in reader if any(cell.strip() for cell in r)]
    except csv.Error as e:
        raise InputError(f"{path.name}: broken CSV in line {reader.line_num}: {e}.") from e
    columns = tuple(c.strip() for c in records[0])
    double = {c for c in columns if columns.count(c) > 1 and c}
    if double:
        raise InputError(f"{path.name}: columns of one name: {', '.join(sorted(double))}.")
    rows = []
    for i, record in enumerate(records[1:], 1):
        if len(record) != len(columns):
            remarks.tell(
                "rows left out: wrong number of columns", f"{path.name}, row {i}: {len(record)} fields instead of {len(columns)}; left out."
            )
            continue
        rows.append({**dict(zip(columns, (c.strip() for c in record), strict=True)), "": str(i)})
    if not rows:
        raise InputError(f"{path.name}: there is no row below the header that has as many fields as the header ({len(columns)}).")
    return Table(path.name, columns, tuple(rows))


def _joined(table: Table, key: str, other: Table, image: str, prediction: str, remarks: Remarks) -> dict[int, str]:
    """Predictions of a second file by number of the row of the first."""
    column = other.column(prediction, "prediction")
    if column is None:
        raise InputError(
            f"{other.name}: no column of predictions.", [Problem(None, "prediction", ", ".join(other.columns), "name the column")]
        )
    theirs = image if image in other.columns else key if key in other.columns else other.column("", "image") or other.column("", "id")
    if theirs is None:
        raise InputError(
            f"{other.name}: no column that names the image.", [Problem(None, "image", ", ".join(other.columns), "name the column")]
        )
    said: dict[str, str] = {}
    for row in other.rows:
        if row[theirs] in said:
            remarks.tell(
                "predictions left out: image seen before", f"{other.name}, row {row['']}: {short(row[theirs])} was there before; left out."
            )
            continue
        said[row[theirs]] = row[column]
    mine = theirs if theirs in table.columns else key
    found = {i: said.pop(row[mine]) for i, row in enumerate(table.rows) if row[mine] in said}
    for name in said:
        remarks.tell("predictions left out: unknown image", f"{other.name}: {short(name)} is not in {table.name}; left out.")
    return found


class _Classes:
    def __init__(self, names: Sequence[str]) -> None:
        self.list = [ClassName(str(i), n) for i, n in enumerate(names)]
        self._index = {**{c.name: i for i, c in enumerate(self.list)}, **{c.id: i for i, c in enumerate(self.list)}}

    def index(self, text: str) -> int:
        key = text.removesuffix(".0") if text.removesuffix(".0").isdigit() else text
        if key not in self._index:
            self._index[key] = len(self.list)
            self.list.append(ClassName(key, key))
        return self._index[key]


def _groups(table: Table, group: str, label: str) -> list[str]:
    """Columns whose values make the group of a row.

    Raises:
        InputError: A named column is not there.
    """
    if group:
        wanted = [g.strip() for g in group.split(",") if g.strip()]
        missing = [Problem(None, "group", g, ", ".join(table.columns)) for g in wanted if g not in table.columns]
        if missing:
            raise InputError(f"{table.name}: there is no such column.", missing)
        return wanted
    column = table.column("", "group")
    if column is not None:
        return [column]
    plain = {c.casefold(): c for c in table.columns}
    return next(([label, plain[a]] for a in ATTRIBUTES if a in plain), [])


def parse(
    truth: Path,
    predictions: Path | None,
    images: Path | None = None,
    *,
    image: str = "",
    label: str = "",
    prediction: str = "",
    group: str = "",
    id: str = "",
    split: str = "",
    only_split: str = "",
    names: Names = None,
    **_: Any,
) -> Parsed:
    """Takes what a classifier said of each image.

    Args:
        truth: CSV with a header: image, label and, if there is no second file, prediction.
        predictions: A second CSV with image and prediction, None if all stands in one.
        images: Not needed here.
        image: Column of the image's file.
        label: Column of the right class.
        prediction: Column of the class that was said.
        group: Column of the group, or several separated by commas whose values make it; label and attribute by default, if there is one.
        id: Column of the image's id; the file by default.
        split: Column of the split.
        only_split: Take only this split, such as "test".
        names: Names of the classes by number, if labels are numbers.

    Raises:
        InputError: A file cannot be read, or columns are missing; all of them are listed.
    """
    remarks = Remarks()
    table = read_table(truth, remarks)
    columns = {role: table.column(given, role) for role, given in (("image", image), ("label", label), ("split", split))}
    id_column = table.column(id, "id") or columns["image"]
    columns["image"] = columns["image"] or id_column
    own = table.column("" if predictions is not None else prediction, "prediction")
    missing = [role for role in ("image", "label") if columns[role] is None] + (
        ["prediction"] if own is None and predictions is None else []
    )
    if missing:
        has = ", ".join(table.columns)
        fix = "name the column, or give a second file with image and prediction" if "prediction" in missing else "name the column"
        raise InputError(f"{truth.name}: columns are missing.", [Problem(None, role, has, fix) for role in missing])
    image_column, label_column, key_column = str(columns["image"]), str(columns["label"]), str(id_column)
    files = [truth.name]
    if predictions is None:
        said = {i: row[str(own)] for i, row in enumerate(table.rows)}
    else:
        files.append(predictions.name)
        said = _joined(table, key_column, read_table(predictions, remarks), image_column, prediction, remarks)
    roles = Roles(image_column, label_column, key_column, columns["split"], tuple(_groups(table, group, label_column)))
    parsed = Parsed("classification", files, "classification", [], [], [], by_id=True, labelled=[], remarks=remarks)
    kept = _kept_rows(table, roles, said, only_split, parsed)
    if not kept:
        raise InputError(f"{truth.name}: not one row has a label and a prediction{f' in split {only_split}' if only_split else ''}.")
    classes = _Classes(read_names(names))
    labels = [classes.index(table.rows[i][label_column]) for i in kept]  # all of them first, so that every model's classes are in one order
    predicted = [classes.index(said[i]) for i in kept]
    groups = [roles.group_of(table.rows[i]) for i in kept]
    _look_at_strangers(predicted, classes.list, max(len(read_names(names)), max(labels) + 1), remarks)
    parsed.labelled = [Labelled(k, *row) for k, row in enumerate(zip(labels, predicted, groups, strict=True))]
    parsed.classes, parsed.predicted = classes.list, list(classes.list)
    second, group_names = own or "of the second file", " and ".join(roles.groups) or "none"
    told = f"image: {image_column}, label: {label_column}, prediction: {second}, group: {group_names}"
    remarks.say("columns", f"{truth.name}: read as {told}.")
    return parsed


def _look_at_strangers(predicted: Sequence[int], classes: Sequence[ClassName], known: int, remarks: Remarks) -> None:
    """Says which predictions are the class of no image, such as probabilities in place of classes."""
    strange = [classes[p].name for p in predicted if p >= known]
    if not strange:
        return
    kind = "predictions of classes that no image has, wrong unless they are mapped"
    remarks.count(kind, len(strange))
    each = dict.fromkeys(strange)
    many = f", {len(each):,} classes in all" if len(each) > MOST_NAMED else ""
    scores = sum(0 < number(name) < 1 for name in each)
    near = {name: proposal_for(name, [c.name for c in classes[:known]]) for name in list(each)[:MOST_NAMED]}
    told = ", ".join(f'"{short(name)}"' + (f' (did you mean "{other}"?)' if other else "") for name, other in near.items())
    advice = " They seem to be probabilities: give a column with the class instead." if scores > len(each) / 2 else ""
    remarks.say(kind, f"{len(strange):,} predictions are the class of no image and wrong unless they are mapped: {told}{many}.{advice}")


def _kept_rows(table: Table, roles: Roles, said: Mapping[int, str], only_split: str, parsed: Parsed) -> list[int]:
    """Numbers of the rows with image, label and prediction, whose images are taken; the others are told."""
    remarks, seen, kept = parsed.remarks, set(), []
    numbered = roles.split is not None and {row[roles.split] for row in table.rows} <= set(SPLITS)
    for i, row in enumerate(table.rows):
        where, key = f"{table.name}, row {row['']}", row[roles.key]
        part = "" if roles.split is None else SPLITS[row[roles.split]] if numbered else row[roles.split]
        if only_split and part != only_split:
            remarks.count("rows left out: other splits")
        elif not key or key in seen:
            remarks.tell("rows left out: no image or one seen before", f"{where}: image {short(key or '(empty)')}; left out.")
        elif not row[roles.label] or not said.get(i):
            why = "no prediction" if row[roles.label] else "no label"
            remarks.tell("rows left out: no label or no prediction", f"{where}: {why}; left out.")
        else:
            seen.add(key)
            kept.append(i)
            parsed.images.append(ParsedImage(key, row[roles.image], split=part))
    return kept


def looks_like(path: Path) -> bool:
    """Whether a CSV has columns of images and labels."""
    try:
        with path.open(encoding="utf-8-sig") as f:
            head = f.readline(1 << 16)
    except (OSError, ValueError):
        return False
    plain = {c.strip().strip('"').casefold() for c in head.replace(";", ",").replace("\t", ",").split(",")}
    return bool(plain & set(ALIASES["image"])) and bool(plain & set(ALIASES["label"]))

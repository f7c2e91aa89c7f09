"""Campaigns: plan one from a ranking, keep it in the workspace, write it as CSV, JSON or OpenSCENARIO."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from core.acquisition import Campaign, Request, plan
from core.acquisition.mapping import MappingDoc, driving_mapping
from core.acquisition.openscenario import Export, export
from core.errors import InputError
from core.operators.rank import RankResult
from core.storage import CampaignContent, PlannedSlice, SavedCampaign, SavedTable, SliceState, Store

POOL = 5_000
"""Best ranked slices that a campaign is chosen from, unless told otherwise."""
CAMPAIGN_FORMATS = ("csv", "json", "zip")
STATE = ("status", "since", "note")
NUMBERS = ("samples", "cost", "phi", "eps_hat", "expected_failures")


@dataclass(frozen=True, eq=False)
class CampaignPlan:
    """A campaign that is not saved yet.

    Attributes:
        campaign: What was chosen, and why the rest was not.
        slices: The chosen slices with the values of the dimensions that are written out.
        manifest: All that it rests on: the manifest of the ranking, the request, the summary.
    """

    campaign: Campaign
    slices: tuple[PlannedSlice, ...]
    manifest: dict[str, Any]


@dataclass(frozen=True)
class CampaignSheet:
    """A campaign as it is written to files, saved or not.

    Attributes:
        name: Its name.
        slices: Best rank first.
        manifest: What it was made from.
        states: Status by slice id, with note and time; nothing for a campaign that is not saved.
        created: When it was saved.
    """

    name: str
    slices: tuple[PlannedSlice, ...]
    manifest: Mapping[str, Any]
    states: Mapping[int, SliceState] = field(default_factory=dict)
    created: datetime | None = None


def plan_campaign(result: RankResult, request: Request, store: Store | None = None) -> CampaignPlan:
    """Plans a campaign from a ranking.

    Args:
        result: The ranking; only its slices can be chosen.
        request: Budget, samples, costs, quotas.
        store: Workspace whose campaigns count as scheduled; None: none do.

    Raises:
        InputError: The request makes no sense for the ODD.
    """
    ranking = result.ranking
    scheduled = store.campaigns.scheduled(ranking.odd.hash) if store is not None else {}
    made = plan(ranking, request, scheduled)
    names = [ranking.odd.names[k] for k in made.dims]
    values = ranking.odd.codec.names(made.codes)
    slices = tuple(
        PlannedSlice(
            rank=int(made.rank[i]),
            slice_id=int(made.ids[i]),
            values={n: values[i][k] for n, k in zip(names, made.dims, strict=True)},
            samples=int(made.samples[i]),
            cost=float(made.cost[i]),
            phi=float(made.phi[i]),
            eps_hat=float(made.eps_hat[i]),
        )
        for i in range(len(made))
    )
    return CampaignPlan(made, slices, {**result.manifest, "campaign": {"request": request.as_dict(), "summary": made.summary()}})


def save_campaign(store: Store, name: str, plan: CampaignPlan, table: SavedTable) -> SavedCampaign:
    """Keeps a plan under a name, every slice planned.

    Raises:
        InputError: The name cannot be used, or the plan is empty.
        ConflictError: Another campaign took one of the slices since it was planned, and they were to be left to others.
    """
    return store.campaigns.save(
        name,
        table_id=table.id,
        odd=plan.campaign.odd,
        manifest=plan.manifest,
        slices=plan.slices,
        exclusive=plan.campaign.request.skip_scheduled,
    )


def campaign_sheet(campaign: CampaignPlan | CampaignContent, name: str = "campaign") -> CampaignSheet:
    """A plan (under some name) or a saved campaign as it is written to files."""
    if isinstance(campaign, CampaignPlan):
        return CampaignSheet(name, campaign.slices, campaign.manifest)
    states = {s.planned.slice_id: s for s in campaign.slices}
    return CampaignSheet(
        campaign.saved.name, tuple(s.planned for s in campaign.slices), campaign.manifest, states, campaign.saved.created_at
    )


def campaign_rows(x: CampaignSheet) -> list[dict[str, Any]]:
    """One mapping per slice, best rank first; the values of the slice stand under "values"."""
    out = []
    for s in x.slices:
        row: dict[str, Any] = {"rank": s.rank, "slice_id": s.slice_id, "values": dict(s.values)}
        row |= {"samples": s.samples, "cost": s.cost, "phi": s.phi, "eps_hat": s.eps_hat, "expected_failures": s.samples * s.eps_hat}
        if x.states:
            now = x.states[s.slice_id]
            row |= {"status": now.status, "since": now.at.isoformat(), "note": now.note}
        out.append(row)
    return out


def campaign_csv(x: CampaignSheet) -> bytes:
    """UTF-8 CSV, one slice a line; numbers in their shortest exact form."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    status = STATE if x.states else ()
    writer.writerow(["rank", "slice_id", *(x.slices[0].values if x.slices else ()), *NUMBERS, *status])
    for row in campaign_rows(x):
        writer.writerow([row["rank"], row["slice_id"], *row["values"].values(), *(row[k] for k in (*NUMBERS, *status))])
    return text.getvalue().encode()


def campaign_object(x: CampaignSheet) -> dict[str, Any]:
    """Slices and manifest as JSON-ready data."""
    return {"name": x.name, "items": campaign_rows(x), "manifest": dict(x.manifest)}


def campaign_json(x: CampaignSheet) -> bytes:
    """`campaign_object` as a file."""
    return _json(campaign_object(x))


def campaign_openscenario(x: CampaignSheet, mapping: MappingDoc | None = None) -> Export:
    """The campaign as OpenSCENARIO XML environments, with what they do not say.

    Raises:
        InputError: The campaign has no slice.
        MissingPackageError: scenariogeneration is not installed.
    """
    return export(x.name, x.slices, mapping or driving_mapping(), x.manifest, x.created)


def write_campaign(x: CampaignSheet, path: Path, mapping: MappingDoc | None = None) -> list[Path]:
    """Writes a campaign in the format of the file's ending; a CSV gets its manifest beside it as NAME.manifest.json.

    Raises:
        InputError: The ending is no known format, or the place cannot be written.
        MissingPackageError: A zip was asked for and scenariogeneration is not installed.
    """
    kind = path.suffix.lstrip(".").lower()
    if kind not in CAMPAIGN_FORMATS:
        raise InputError(f'Cannot write "{path.name}": the ending must be csv, json, or zip (OpenSCENARIO).')
    made = {path: {"csv": campaign_csv, "json": campaign_json}[kind](x) if kind != "zip" else campaign_openscenario(x, mapping).as_zip()}
    if kind == "csv":
        made[path.with_name(path.stem + ".manifest.json")] = _json(x.manifest)
    try:
        for file, data in made.items():
            file.write_bytes(data)
    except OSError as e:
        raise InputError(f'Cannot write "{path}": {e.strerror}.') from e
    return list(made)


def _json(data: Any) -> bytes:
    return (json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()

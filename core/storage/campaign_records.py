"""What the store tells of campaigns: plain records, and the digest over their content."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, get_args

from core.digest import sha256_json

Status = Literal["planned", "acquired", "evaluated", "dropped"]
STATUSES: tuple[Status, ...] = get_args(Status)
"""Where a slice of a campaign stands: planned, samples acquired, model evaluated on them; or dropped from the campaign."""


@dataclass(frozen=True)
class PlannedSlice:
    """One slice of a campaign, as it was planned.

    Attributes:
        rank: Its rank in the ranking that the campaign was made from, 1 first.
        slice_id: Id under the codec of the ODD.
        values: Value per dimension that is written out.
        samples: Samples to acquire.
        cost: Of all of them.
        phi, eps_hat: Score and estimated error rate at that time.
    """

    rank: int
    slice_id: int
    values: Mapping[str, str]
    samples: int
    cost: float
    phi: float
    eps_hat: float


@dataclass(frozen=True)
class SliceState:
    """A slice of a campaign with the status that it has now.

    Attributes:
        planned: The slice.
        status: Its present status.
        note: What was noted with it, "" if nothing.
        at: Since when, UTC.
    """

    planned: PlannedSlice
    status: Status
    note: str
    at: datetime


@dataclass(frozen=True)
class StatusEvent:
    """One status given to one slice."""

    slice_id: int
    status: Status
    note: str
    who: str
    at: datetime


@dataclass(frozen=True)
class SavedCampaign:
    """What is known of a campaign without its slices.

    Attributes:
        id: Eight hex digits.
        name: Its present name, unique among the campaigns that are not deleted.
        table_id: Seed table whose gaps it tests.
        odd_hash: Hash of the ODD that numbers its slices.
        digest: SHA-256 of slices and manifest.
        slices, samples, cost: Totals, dropped slices included.
        counts: Slices by status.
        created_at: UTC.
        changed_at: Time of the last event, UTC.
        deleted: Whether it lies in the bin.
    """

    id: str
    name: str
    table_id: str
    odd_hash: str
    digest: str
    slices: int
    samples: int
    cost: float
    counts: Mapping[Status, int]
    created_at: datetime
    changed_at: datetime
    deleted: bool


@dataclass(frozen=True)
class CampaignContent:
    """A campaign with everything in it.

    Attributes:
        saved: Its summary.
        manifest: What it was made from, as saved.
        slices: Best rank first.
    """

    saved: SavedCampaign
    manifest: dict[str, Any]
    slices: tuple[SliceState, ...]


def digest(odd_hash: str, manifest: Mapping[str, Any], slices: Sequence[PlannedSlice]) -> str:
    """SHA-256 of what a campaign holds; names and status are no part of it."""
    rows = [[s.rank, s.slice_id, dict(s.values), s.samples, *(float(x).hex() for x in (s.cost, s.phi, s.eps_hat))] for s in slices]
    return sha256_json({"odd": odd_hash, "manifest": dict(manifest), "slices": rows})

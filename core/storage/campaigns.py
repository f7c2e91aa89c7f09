"""Saved campaigns: their slices never change, and what is done to them is a list of events, so that everything can be undone."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import fsum
from typing import Any

import sqlalchemy as sa

from core.errors import ConflictError, InputError, Problem
from core.odd import Odd
from core.storage import schema
from core.storage.campaign_records import (
    STATUSES,
    CampaignContent,
    PlannedSlice,
    SavedCampaign,
    SliceState,
    Status,
    StatusEvent,
    digest,
)
from core.storage.ids import is_id, new_id
from core.storage.named import NamedRecords
from core.storage.names import clean, folded, refuse_taken
from core.storage.odds import Odds

MAX_NOTE = 2_000

_c, _s, _e, _l = schema.campaigns.c, schema.campaign_slices.c, schema.campaign_events.c, schema.campaign_status.c


@dataclass(frozen=True, eq=False)
class Campaigns(NamedRecords[SavedCampaign]):
    """The campaigns of the workspace."""

    odds: Odds
    noun = "campaign"
    lock = "campaigns"
    table = schema.campaigns
    events_table = schema.campaign_events
    event_key = "campaign_id"

    def save(
        self,
        name: str,
        *,
        table_id: str,
        odd: Odd,
        manifest: dict[str, Any],
        slices: Sequence[PlannedSlice],
        exclusive: bool = False,
        who: str = "",
    ) -> SavedCampaign:
        """Keep a campaign, every slice of it planned, all or nothing.

        Args:
            name: Unique among the living campaigns.
            table_id: Seed table whose gaps it tests.
            odd: Numbers the slices.
            manifest: What it was made from (JSON).
            slices: Best rank first.
            exclusive: Refuse it if another campaign of the ODD has one of the slices by now.
            who: Who saves it.

        Raises:
            InputError: The name is empty, too long or taken (a free one is suggested), there is no slice or no such table.
            ConflictError: Another campaign took a slice meanwhile, and `exclusive` was asked for.
        """
        name, at = clean(name, self.noun), schema.now()
        if not slices:
            raise InputError("The campaign has no slice, so there is nothing to save.")
        with self.db.write(lock=self.lock) as c:
            refuse_taken(name, self._names(c, but=""), self.noun)
            known = is_id(table_id) and c.execute(sa.select(schema.seed_tables.c.id).where(schema.seed_tables.c.id == table_id)).first()
            if not known:
                raise InputError(f'There is no saved table "{table_id}" in this workspace, so no campaign can be kept for it.')
            if exclusive:
                self._refuse_scheduled(c, odd.hash, [s.slice_id for s in slices])
            campaign_id = new_id(c, _c.id)
            row = {
                "id": campaign_id,
                "table_id": table_id,
                "odd_hash": self.odds.put_within(c, odd),
                "manifest": manifest,
                "created_at": at,
            }
            c.execute(schema.campaigns.insert().values(row | {"digest": digest(odd.hash, manifest, slices)}))
            c.execute(schema.campaign_slices.insert(), [_row(s) | {"campaign_id": campaign_id} for s in slices])
            self._append(c, campaign_id, "created", name, who, at)
            self._append_status(c, campaign_id, [s.slice_id for s in slices], "planned", "", who, at)
            return self._get(c, campaign_id)

    def load(self, campaign_id: str) -> CampaignContent:
        """A campaign with its slices and their status; also a deleted one.

        Raises:
            InputError: There is no such campaign, or it no longer has its digest.
        """
        with self.db.read() as c:
            saved = self._get(c, campaign_id)
            manifest = c.execute(sa.select(_c.manifest).where(_c.id == campaign_id)).scalar_one()
            rows = c.execute(self._states([*_s, _l.status, _l.note, _l.at], [campaign_id]).order_by(_s.rank)).all()
        states = tuple(
            SliceState(PlannedSlice(r.rank, r.slice_id, r.slice_values, r.samples, r.cost, r.phi, r.eps_hat), r.status, r.note, r.at)
            for r in rows
        )
        if digest(saved.odd_hash, manifest, [s.planned for s in states]) != saved.digest:
            raise InputError(f'The saved campaign "{saved.name}" ({saved.id}) is damaged: its content has changed. Restore a backup.')
        return CampaignContent(saved, manifest, states)

    def set_status(self, campaign_id: str, slice_ids: Collection[int], status: Status, note: str = "", who: str = "") -> int:
        """Give slices a status. One that has it already, with the same note, is left as it is.

        Returns:
            How many slices got it.

        Raises:
            InputError: There is no such campaign, slice or status, the note is too long, or the campaign is deleted.
        """
        note = note.strip()
        if status not in STATUSES:
            raise InputError(f'A slice cannot be "{status}"; allowed: {", ".join(STATUSES)}.')
        if len(note) > MAX_NOTE:
            raise InputError(f"A note has at most {MAX_NOTE:,} characters; this one has {len(note):,}.")
        with self.db.write(lock=self.lock) as c:
            saved = self._get(c, campaign_id)
            if saved.deleted:
                raise InputError(f'The campaign "{saved.name}" is deleted; restore it before you change the status of a slice.')
            now = {i: (was, noted) for i, was, noted in c.execute(self._states([_s.slice_id, _l.status, _l.note], [campaign_id]))}
            unknown = [i for i in dict.fromkeys(slice_ids) if i not in now]
            if unknown:
                problems = [Problem(None, "slice_id", str(i), f"a slice of the campaign {saved.name}") for i in unknown]
                raise InputError("A slice is not in this campaign; no status was changed.", problems)
            changed = [i for i in dict.fromkeys(slice_ids) if now[i] != (status, note) and (note or now[i][0] != status)]
            self._append_status(c, campaign_id, changed, status, note, who, schema.now())
            return len(changed)

    def log(self, campaign_id: str) -> tuple[StatusEvent, ...]:
        """Every status that a slice of a campaign was given, the oldest first.

        Raises:
            InputError: There is no such campaign.
        """
        with self.db.read() as c:
            self._get(c, campaign_id)
            rows = c.execute(sa.select(schema.campaign_status).where(_l.campaign_id == campaign_id).order_by(_l.seq)).all()
        return tuple(StatusEvent(r.slice_id, r.status, r.note, r.who, r.at) for r in rows)

    def scheduled(self, odd_hash: str) -> dict[int, str]:
        """Slices of the living campaigns of an ODD that were not dropped, each with the name of a campaign that has it."""
        with self.db.read() as c:
            return self._scheduled(c, odd_hash)

    def _append_status(
        self, c: sa.Connection, campaign_id: str, slice_ids: Sequence[int], status: Status, note: str, who: str, at: datetime
    ) -> None:
        row = {"campaign_id": campaign_id, "status": status, "note": note, "who": who, "at": at}
        if slice_ids:
            c.execute(schema.campaign_status.insert(), [row | {"slice_id": i} for i in slice_ids])

    def _states(self, columns: Sequence[sa.ColumnElement[Any]], campaign_ids: Collection[str]) -> sa.Select[Any]:
        """Slices of some campaigns with their newest status."""
        newest = sa.select(sa.func.max(_l.seq)).where(_l.campaign_id.in_(campaign_ids)).group_by(_l.campaign_id, _l.slice_id)
        join = sa.and_(_l.campaign_id == _s.campaign_id, _l.slice_id == _s.slice_id)
        return sa.select(*columns).join_from(schema.campaign_slices, schema.campaign_status, join).where(_l.seq.in_(newest))

    def _named(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> Sequence[Any]:
        """Campaigns with their last event, the one saved last first; nothing of their slices."""
        columns = [x for x in _c if x.name != "manifest"]
        query = sa.select(*columns, _e.kind, _e.name, _e.at).join_from(schema.campaigns, schema.campaign_events)
        query = query.where(_e.seq.in_(self._newest()), sa.true() if where is None else where)
        return c.execute(query.order_by(_c.created_at.desc(), _c.id)).all()

    def _all(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> tuple[SavedCampaign, ...]:
        named = self._named(c, where)
        sums = [sa.func.count().label("n"), sa.func.sum(_s.samples).label("samples"), sa.func.sum(_s.cost).label("cost")]
        columns = [_s.campaign_id, _l.status, *sums, sa.func.max(_l.at, type_=_l.at.type).label("at")]
        query = self._states(columns, [r.id for r in named]).group_by(_s.campaign_id, _l.status).order_by(_s.campaign_id, _l.status)
        parts: dict[str, list[Any]] = {r.id: [] for r in named}
        for row in c.execute(query):
            parts[row.campaign_id].append(row)
        return tuple(_summary(r, parts[r.id]) for r in named)

    def _names(self, c: sa.Connection, but: str) -> set[str]:
        return {folded(r.name) for r in self._named(c) if r.kind != "deleted" and r.id != but}

    def _scheduled(self, c: sa.Connection, odd_hash: str) -> dict[int, str]:
        living = {r.id: r.name for r in self._named(c, _c.odd_hash == odd_hash) if r.kind != "deleted"}
        query = self._states([_s.campaign_id, _s.slice_id], living).where(_l.status != "dropped").order_by(_l.seq.desc())
        return {slice_id: living[campaign_id] for campaign_id, slice_id in c.execute(query)}

    def _refuse_scheduled(self, c: sa.Connection, odd_hash: str, slice_ids: Sequence[int]) -> None:
        others = self._scheduled(c, odd_hash)
        taken = [i for i in slice_ids if i in others]
        if taken:
            raise ConflictError(
                f"{len(taken):,} of {len(slice_ids):,} slices have been scheduled meanwhile, the first by the campaign "
                f'"{others[taken[0]]}". Nothing was saved; plan again.'
            )


def _row(s: PlannedSlice) -> dict[str, Any]:
    row = {k: v for k, v in vars(s).items() if k != "values"}
    return row | {"slice_values": dict(s.values)}


def _summary(r: Any, parts: Sequence[Any]) -> SavedCampaign:
    """From a campaign with its last event, and the sums over its slices by status."""
    counts: dict[Status, int] = dict.fromkeys(STATUSES, 0) | {x.status: x.n for x in parts}
    return SavedCampaign(
        id=r.id,
        name=r.name,
        table_id=r.table_id,
        odd_hash=r.odd_hash,
        digest=r.digest,
        slices=sum(counts.values()),
        samples=sum(int(x.samples) for x in parts),
        cost=fsum(x.cost for x in parts),
        counts=counts,
        created_at=r.created_at,
        changed_at=max([r.at, *(x.at for x in parts)]),
        deleted=r.kind == "deleted",
    )

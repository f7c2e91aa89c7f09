"""Campaigns in the store: they come back as saved, every status is kept, nothing is lost; on both back ends."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from core.errors import ConflictError, InputError
from core.odd import Odd, infer_odd
from core.seed_table.table import SeedTable
from core.settings import Settings
from core.storage import PlannedSlice, SavedCampaign, Store, open_store, schema
from core.storage.campaign_records import digest
from core.storage.slices import pack

ROOT = Path(__file__).resolve().parents[2]
ODD = infer_odd({"weather": ["clear", "rain", "\x00 ß"], "time": ["day", "night"]})
OTHER = infer_odd({"weather": ["clear", "fog"], "time": ["day", "night"]})


def planned(odd: Odd = ODD, ids: tuple[int, ...] = (5, 0, 3)) -> list[PlannedSlice]:
    names = odd.codec.names(odd.codec.decode(np.array(ids)))
    return [
        PlannedSlice(rank, i, dict(zip(odd.names, values, strict=True)), 93, 93.5 * rank, 1.1 / rank, 0.1 + 0.2)
        for rank, (i, values) in enumerate(zip(ids, names, strict=True), 1)
    ]


def table_id(store: Store) -> str:
    found = store.tables.list()
    if found:
        return found[0].id
    seed = SeedTable(ODD, ODD.codec.decode([1]), np.array([5]), np.array([0.5]), np.array([np.nan]))
    return store.tables.save("t", seed, upload_sha=None, decisions={}, report={}, model="", synthetic=False).id


def save(store: Store, name: str = "Nights", odd: Odd = ODD, ids: tuple[int, ...] = (5, 0, 3), **options: bool) -> SavedCampaign:
    return store.campaigns.save(name, table_id=table_id(store), odd=odd, manifest={"m": [1.5]}, slices=planned(odd, ids), **options)


def statuses(store: Store, campaign: SavedCampaign) -> dict[int, str]:
    return {s.planned.slice_id: s.status for s in store.campaigns.load(campaign.id).slices}


def test_campaign_comes_back_equal(store: Store) -> None:
    saved = save(store, "  Nights   first ")
    content = store.campaigns.load(saved.id)
    assert [s.planned for s in content.slices] == planned()
    assert [(s.status, s.note, s.at.tzinfo) for s in content.slices] == [("planned", "", UTC)] * 3
    assert content.manifest == {"m": [1.5]}
    assert content.saved == saved == store.campaigns.get(saved.id) == store.campaigns.list()[0]
    assert (saved.name, saved.slices, saved.samples, saved.cost) == ("Nights first", 3, 279, 93.5 * 6)
    assert saved.counts == {"planned": 3, "acquired": 0, "evaluated": 0, "dropped": 0}
    assert (saved.odd_hash, saved.table_id, saved.deleted) == (ODD.hash, table_id(store), False)
    assert saved.digest == digest(ODD.hash, {"m": [1.5]}, planned())
    assert saved.created_at == saved.changed_at
    assert store.odds.get(saved.odd_hash).names == ODD.names


def test_ids_up_to_the_last_one(store: Store) -> None:
    odd = infer_odd({f"d{k:02}": [str(v) for v in range(8)] for k in range(21)})  # 8^21 = 2^63
    saved = save(store, "wide", odd, (2**63 - 1, 2**53 + 1))
    assert [s.planned.slice_id for s in store.campaigns.load(saved.id).slices] == [2**63 - 1, 2**53 + 1]


def test_the_status_is_the_last_one_and_all_are_kept(store: Store) -> None:
    saved, c = save(store), store.campaigns
    assert c.set_status(saved.id, [5, 0, 5], "acquired", "  truck 7 ") == 2
    assert c.set_status(saved.id, [0], "evaluated") == 1
    assert c.set_status(saved.id, [3], "dropped", "no snow this year") == 1
    assert statuses(store, saved) == {5: "acquired", 0: "evaluated", 3: "dropped"}
    assert c.get(saved.id).counts == {"planned": 0, "acquired": 1, "evaluated": 1, "dropped": 1}
    assert c.set_status(saved.id, [3], "planned") == 1  # a mistake is put right by a further event
    log = c.log(saved.id)
    assert [(e.slice_id, e.status, e.note) for e in log] == [
        (5, "planned", ""), (0, "planned", ""), (3, "planned", ""), (5, "acquired", "truck 7"), (0, "acquired", "truck 7"),
        (0, "evaluated", ""), (3, "dropped", "no snow this year"), (3, "planned", ""),
    ]  # fmt: skip
    assert [e.at for e in log] == sorted(e.at for e in log)
    assert c.get(saved.id).changed_at == log[-1].at
    assert c.load(saved.id).saved.digest == saved.digest


def test_the_same_status_again_changes_nothing_but_a_new_note_is_kept(store: Store) -> None:
    saved, c = save(store), store.campaigns
    assert c.set_status(saved.id, [5, 0, 3], "planned") == 0
    assert c.set_status(saved.id, [5], "acquired", "a") == 1
    assert c.set_status(saved.id, [5], "acquired", "a") == 0
    assert c.set_status(saved.id, [5], "acquired") == 0
    assert c.set_status(saved.id, [5], "acquired", "b") == 1
    assert c.set_status(saved.id, [], "evaluated") == 0
    assert [e.note for e in c.log(saved.id)][3:] == ["a", "b"]


@pytest.mark.parametrize(
    "ids, status, note, told",
    [
        ([5, 99], "acquired", "", "not in this campaign"),
        ([5], "done", "", "allowed: planned, acquired, evaluated, dropped"),
        ([5], "acquired", "x" * 2_001, "at most 2,000"),
    ],
)
def test_a_wrong_status_is_told_and_changes_nothing(store: Store, ids: list[int], status: str, note: str, told: str) -> None:
    saved = save(store)
    with pytest.raises(InputError, match=told):
        store.campaigns.set_status(saved.id, ids, status, note)  # type: ignore[arg-type]
    assert len(store.campaigns.log(saved.id)) == 3


def test_scheduled_slices_are_those_of_living_campaigns_of_the_odd(store: Store) -> None:
    c = store.campaigns
    assert c.scheduled(ODD.hash) == {}
    a, b = save(store, "A", ids=(5, 0)), save(store, "B", ids=(3, 2))
    save(store, "other", OTHER, (1,))
    assert c.scheduled(ODD.hash) == {5: "A", 0: "A", 3: "B", 2: "B"}
    assert c.scheduled(OTHER.hash) == {1: "other"}
    c.set_status(a.id, [5], "evaluated")
    c.set_status(a.id, [0], "dropped")
    c.delete(b.id)
    assert c.scheduled(ODD.hash) == {5: "A"}
    c.restore(b.id)
    assert set(c.scheduled(ODD.hash)) == {5, 3, 2}


def test_an_exclusive_campaign_is_refused_if_a_slice_was_taken_meanwhile(store: Store) -> None:
    a = save(store, "A", ids=(5, 0), exclusive=True)
    with pytest.raises(ConflictError, match='1 of 2 slices have been scheduled meanwhile, the first by the campaign "A"'):
        save(store, "B", ids=(0, 3), exclusive=True)
    assert [x.name for x in store.campaigns.list()] == ["A"]
    save(store, "C", ids=(0, 3))
    store.campaigns.delete(a.id)
    assert save(store, "D", ids=(5,), exclusive=True).name == "D"


def test_names_are_unique_among_the_living(store: Store) -> None:
    first = save(store, "Nights")
    with pytest.raises(InputError, match=r'already a campaign called "NIGHTS". .* such as "NIGHTS \(2\)"'):
        save(store, "NIGHTS")
    assert store.campaigns.free_name("nights") == "nights (2)"
    second = save(store, "Days")
    with pytest.raises(InputError, match="already a campaign"):
        store.campaigns.rename(second.id, "nights")
    assert store.campaigns.rename(first.id, "nights").name == "nights"
    for name in ("", " \n ", "x" * 121):
        with pytest.raises(InputError, match=r"campaign needs a name|at most 120"):
            save(store, name)


def test_delete_is_undone_by_restore_and_everything_is_an_event(store: Store) -> None:
    saved, c = save(store, "A"), store.campaigns
    c.rename(saved.id, "B", who="kim")
    c.rename(saved.id, "B")
    c.set_status(saved.id, [5], "acquired")
    assert c.delete(saved.id, who="kim").deleted
    assert c.delete(saved.id).deleted
    assert c.list() == ()
    assert [x.name for x in c.list(include_deleted=True)] == ["B"]
    assert statuses(store, saved)[5] == "acquired"  # a bin loses nothing
    with pytest.raises(InputError, match="restore it before"):
        c.set_status(saved.id, [5], "evaluated")
    with pytest.raises(InputError, match="restore it before"):
        c.rename(saved.id, "C")
    taken = save(store, "b")
    with pytest.raises(InputError, match=r'"B \(2\)"'):
        c.restore(saved.id)
    assert c.restore(saved.id, name="B (2)").name == "B (2)"
    assert not c.restore(saved.id).deleted
    assert c.get(taken.id).name == "b"
    expected = [("created", "A", ""), ("renamed", "B", "kim"), ("deleted", "B", "kim"), ("restored", "B (2)", "")]
    assert [(e.kind, e.name, e.who) for e in c.events(saved.id)] == expected


@pytest.mark.parametrize("campaign_id", ["", "00000000", "\x00", "\ud800", "x" * 99, "' OR 1=1 --"])
def test_unknown_campaign_is_told(store: Store, campaign_id: str) -> None:
    c = store.campaigns
    for call in (c.load, c.get, c.log, c.events, c.delete, c.restore, lambda i: c.set_status(i, [1], "acquired")):
        with pytest.raises(InputError, match="no saved campaign"):
            call(campaign_id)


@pytest.mark.parametrize(
    "table, column, value",
    [
        ("campaign_slices", "samples", 94),
        ("campaign_slices", "eps_hat", 0.3),  # was 0.1 + 0.2
        ("campaign_slices", "slice_values", {}),
        ("campaigns", "manifest", {"m": [1.6]}),
        ("campaigns", "digest", "0" * 64),
    ],
)
def test_tampered_campaign_is_refused_by_name(store: Store, table: str, column: str, value: object) -> None:
    saved = save(store, "Monday")
    with store.db.write() as c:
        c.execute(schema.metadata.tables[table].update().values({column: value}))
    with pytest.raises(InputError, match=r'saved campaign "Monday" .* is damaged'):
        store.campaigns.load(saved.id)


def test_save_is_all_or_nothing(store: Store) -> None:
    c, table = store.campaigns, table_id(store)
    with pytest.raises(InputError, match="no slice"):
        c.save("x", table_id=table, odd=ODD, manifest={}, slices=[])
    with pytest.raises(InputError, match="no saved table"):
        c.save("x", table_id="00000000", odd=OTHER, manifest={}, slices=planned(OTHER, (1,)))
    with pytest.raises(ValueError, match="JSON compliant"):
        c.save("x", table_id=table, odd=OTHER, manifest={"x": float("nan")}, slices=planned(OTHER, (1,)))
    twice = planned(OTHER, (1, 2))
    with pytest.raises(sa.exc.IntegrityError):
        c.save("x", table_id=table, odd=OTHER, manifest={}, slices=[twice[0], replace(twice[1], slice_id=1)])
    assert c.list(include_deleted=True) == ()
    assert [o.hash for o in store.odds.all()] == [ODD.hash]


def test_no_row_is_ever_changed_or_removed(store: Store) -> None:
    def everything() -> dict[str, set[str]]:
        with store.db.read() as c:
            return {t.name: {repr(tuple(r)) for r in c.execute(sa.text(f"SELECT * FROM {t.name}"))} for t in schema.metadata.sorted_tables}

    saved, c = save(store), store.campaigns
    before = everything()
    for deed in (
        lambda: c.set_status(saved.id, [5, 3], "acquired", "n"),
        lambda: c.set_status(saved.id, [5], "dropped"),
        lambda: c.rename(saved.id, "B"),
        lambda: c.delete(saved.id),
        lambda: c.restore(saved.id, name="C"),
    ):
        deed()
        after = everything()
        assert all(before[name] <= after[name] for name in before)
        before = after
    counts = {k: len(v) for k, v in before.items() if k.startswith("campaign")}
    assert counts == {"campaigns": 1, "campaign_slices": 3, "campaign_events": 4, "campaign_status": 6}


def test_threads_set_a_status_and_save_a_name_at_once(store: Store) -> None:
    saved = save(store)

    def work(i: int) -> object:
        try:
            save(store, "Same", ids=(1,))
        except InputError as e:
            assert "already a campaign" in str(e)
            return store.campaigns.set_status(saved.id, [5], "acquired")
        return "saved"

    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(work, range(16)))
    assert sorted(map(str, said)) == ["0"] * 14 + ["1", "saved"]  # one save and one change; the rest found them done
    assert len(store.campaigns.list()) == 2
    assert [e.status for e in store.campaigns.log(saved.id) if e.slice_id == 5] == ["planned", "acquired"]


def test_process_that_dies_while_it_saves_leaves_nothing(settings: Settings) -> None:
    store = open_store(settings)
    table = table_id(store)
    code = f"""
import os
from core.settings import Settings
from core.storage import PlannedSlice, open_store
from core.storage.campaigns import Campaigns
store = open_store(Settings.from_environment())
Campaigns._append_status = lambda *a: os._exit(9)
odd = store.tables.load("{table}").odd
slices = [PlannedSlice(1, 5, {{}}, 1, 1.0, 1.0, 0.5)]
store.campaigns.save("x", table_id="{table}", odd=odd, manifest={{}}, slices=slices)
"""
    env = os.environ | {"ODDYSSEY_HOME": str(settings.home), "DATABASE_URL": settings.database_url, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 9, done.stderr
    assert store.campaigns.list(include_deleted=True) == ()
    assert save(store, "x").name == "x"
    store.close()


def test_a_workspace_of_the_first_version_is_brought_up_to_date(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic import command

    from core.storage import migrate

    upgrade = command.upgrade
    with monkeypatch.context() as m:
        m.setattr(migrate, "known_versions", lambda: ("0001",))
        m.setattr(command, "upgrade", lambda config, _: upgrade(config, "0001"))
        old = open_store(settings)
    seed = SeedTable(ODD, ODD.codec.decode([1]), np.array([5]), np.array([0.5]), np.array([np.nan]))
    row = {
        "id": "0000000a",
        "digest": seed.digest,
        "odd_hash": old.odds.put(ODD),
        "odd_source": ODD.source,
        "upload_sha": None,
        "model": "",
    }
    row |= {"synthetic": False, "n_assumed": False, "rows": 1, "total": 5, "decisions": {}, "report": {}, "data": pack(seed)}
    event = {"table_id": "0000000a", "kind": "created", "name": "t", "who": "", "at": schema.now()}
    with old.db.write() as c:  # as the first version wrote it
        c.execute(schema.seed_tables.insert().values(row | {"created_at": event["at"]}))
        c.execute(schema.seed_table_events.insert().values(event))
        assert not sa.inspect(c).has_table("campaigns")
    old.close()
    new = open_store(settings)
    assert (new.tables.get("0000000a").name, new.tables.get("0000000a").version) == ("t", 0)
    assert new.tables.load("0000000a").digest == seed.digest
    assert save(new).slices == 3
    new.close()

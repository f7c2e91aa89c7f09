"""The slices of a table that a page holds are those of the digest it shows, whatever is counted in meanwhile."""

from __future__ import annotations

import pytest

from core.odd import infer_odd
from core.seed_table import SeedTable
from core.storage.growth import TableVersion
from pages.shared import state
from tests.storage.test_store_results import result

ODD = infer_odd({"weather": ["clear", "rain"], "time": ["day", "night"]})


def test_the_slices_of_a_digest_stay_those_of_the_digest(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ODDYSSEY_HOME", str(tmp_path))
    store = state.store()
    seed = SeedTable.from_slices(ODD, [{"weather": "clear", "time": "day"}], [4], [0.5])
    seen = [store.tables.save("T", seed, upload_sha=None, decisions={}, report={}, model="m", synthetic=False)]
    store.results.begin("r", "m", "", {})
    store.results.append([result("r", "a")])
    seen.append(store.tables.count_run(seen[0].id, "r"))
    (last,) = store.tables.undo_run("r")
    assert last.digest == seen[0].digest != seen[1].digest
    for shown in (*seen, last, *seen):  # the first two were looked up before somebody changed the table again
        assert state.seed_table(shown).digest == shown.digest
    version: TableVersion = store.tables.versions(last.id)[0]
    assert state.seed_table(seen[1]).total == version.total
    store.close()

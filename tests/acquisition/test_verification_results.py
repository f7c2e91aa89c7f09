"""What was said of media reaches results that exist already, and can be taken back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from core import operators
from core.acquisition.synthesis import synthesize
from core.errors import InputError
from core.evaluation.items import Item, Result
from core.evaluation.rows import row_of
from core.llm import Client
from core.odd import load_yaml
from core.operators import table_from_results
from core.settings import Settings
from core.storage import QueueItem, Statement, Store, open_store
from tests.stub_llm import StubServer, image

ODD = load_yaml("dimensions: {time: {values: [day, night]}, weather: {values: [clear, rain]}}")
ASKED = {"time": "night", "weather": "rain"}


@pytest.fixture
def store(workspace: Path) -> Iterator[Store]:
    opened = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(workspace)}))
    yield opened
    opened.close()


def item(name: str, verdict: str, realised: dict[str, str] | None, source: str = "datastore") -> Item:
    more = {"requested": ASKED, "realised": realised, "verdict": verdict, "source": source, "image_sha256": (f"sha-{name}",)}
    return Item(id=name, images=(f"{name}.png",), question="Q?", options=("a", "b"), answer="A", qa_type="MCQ", **more)


@pytest.fixture
def run(store: Store) -> str:
    """A run with a valid, a partial, an invalid and a made sample, counted into a table."""
    items = [
        item("valid", "valid", ASKED),
        item("partial", "partial", None),
        item("invalid", "invalid", {"time": "day", "weather": "rain"}),
        item("made", "partial", None, "synthetic"),
    ]
    store.results.begin("run-1", "model", "", {"items": {"number": 4}})
    store.results.append([row_of("run-1", Result(x, f"key-{x.id}", "scored", 1.0, "shortcut", "A")) for x in items])
    table_from_results(store, "T", ODD, ["run-1"])
    return "run-1"


def verdicts(store: Store) -> dict[str, str]:
    return {r.item.id: r.item.verdict for r in operators.results_of(store, "run-1").results}


def say(store: Store, name: str, who: str = "Ada", **answers: str) -> None:
    given = {Statement(f"sha-{name}", d, v.partition(":")[0]): v.partition(":")[2] for d, v in answers.items()}
    store.verification.answer(given, who)


def test_nothing_said_changes_nothing(store, run):
    found = operators.settle_results(store, ODD, who="Ada")
    assert (found.looked, found.changed, found.runs) == (4, 0, ())
    assert [r.version for r in store.results.rows(run)] == [0] * 4


def test_a_confirmed_sample_counts_and_a_refuted_one_does_not(store, run):
    assert store.tables.list()[0].total == 1
    say(store, "made", time="night:yes", weather="rain:yes")
    say(store, "valid", time="night:no")
    found = operators.settle_results(store, ODD, who=" Ada ")
    assert (found.looked, found.changed, found.valid, found.lost, found.runs, found.tables) == (4, 2, 1, 1, ("run-1",), ("T",))
    assert verdicts(store) == {"valid": "invalid", "partial": "partial", "invalid": "invalid", "made": "valid"}
    assert store.tables.list()[0].total == 1
    assert [(r.who, r.why, r.score) for r in store.results.rows(run) if r.version] == [("Ada", "fidelity confirmed", 1.0)] * 2
    assert operators.settle_results(store, ODD, who="Ada").changed == 0


def test_taken_back_is_taken_back(store, run):
    queue = store.verification.save("q", odd=ODD, manifest={}, items=[_item()], who="Ada")
    store.verification.answer({s: "yes" for s in _item().statements}, "Ada", queue_id=queue.id)
    assert operators.settle_results(store, ODD, who="Ada").valid == 1
    assert store.tables.list()[0].total == 2
    store.verification.undo(queue.id, "Ada")
    found = operators.settle_results(store, ODD, who="Ada")
    assert (found.changed, found.lost) == (1, 1)
    assert verdicts(store)["made"] == "partial"
    assert store.tables.list()[0].total == 1
    assert [r.why for r in store.results.history(run, "made")] == ["", "fidelity confirmed", "fidelity as it was acquired"]


def _item():
    return QueueItem("sha-made", ("made.png",), ASKED)


def test_what_is_known_only_in_part_needs_every_dimension(store, run):
    say(store, "partial", time="night:yes")
    assert operators.settle_results(store, ODD, who="Ada").changed == 0
    say(store, "partial", weather="rain:yes")
    assert operators.settle_results(store, ODD, who="Ada").valid == 1


def test_only_the_runs_that_are_named(store, run):
    say(store, "made", time="night:yes", weather="rain:yes")
    assert operators.settle_results(store, ODD, run_ids=["other"], who="Ada").looked == 0
    with pytest.raises(InputError, match="say who you are"):
        operators.settle_results(store, ODD, who=" ")


def test_the_candidates_of_the_record_are_graded_where_there_is_one(store, tmp_path):
    with StubServer([image()]) as stub:
        client = Client(stub.endpoint())
        made = synthesize(ODD, ASKED, 0, client, tmp_path)
        client.close()
    saved = store.runs.begin("query", folder=str(tmp_path / "record"))
    (tmp_path / "record").mkdir()
    acquired = operators.Acquired((made,), (), (), {})
    (tmp_path / "record" / "dataset_retrieval.jsonl").write_bytes(operators.retrieval_jsonl(acquired))
    (tmp_path / "record" / "normalized_bundle.jsonl").write_bytes(operators.bundle_jsonl(acquired))
    same = Item(made.id, (made.path,), "Q?", ("a", "b"), "A", "MCQ", ASKED, None, "partial", "synthetic")  # the item has no hash
    store.results.begin(saved.id, "model", "", {})
    store.results.append([row_of(saved.id, Result(same, "k", "scored", 0.0, "shortcut", "B"))])
    operators.confirm(store, made, {"time": "yes", "weather": "yes"}, "Ada")
    assert operators.settle_results(store, ODD, who="Ada").valid == 1

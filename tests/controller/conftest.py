"""A workspace with the demo in it, and a stub that plays the model under test, the judge and the maker of images."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from core import operators
from core.controller import Context
from core.settings import Settings
from core.storage import Store, open_store
from tests.stub_llm import Request, Scripted, StubServer, image, png


def plays(request: Request) -> Scripted:
    """Answers A to everything; as a judge it finds every second answer right, by the length of the question; makes grey images."""
    if request.path.endswith("/images/generations"):
        return image(png(64, 64))
    if any("verdict" in str(m["content"]) for m in request.messages):
        return '{"verdict": 1}' if len(request.last) % 2 else '{"verdict": 0}'
    return "A"


@pytest.fixture
def stub() -> Iterator[StubServer]:
    """The stub, answering by `plays`."""
    with StubServer(plays) as running:
        yield running


@pytest.fixture
def store(workspace) -> Iterator[Store]:
    """An open workspace."""
    opened = open_store(Settings.from_environment())
    yield opened
    opened.close()


@pytest.fixture
def context(store: Store) -> Context:
    """The demo table of the first model, with the demo's footage and no endpoint."""
    table = operators.load_demo(store)[0]
    settings = Settings.from_environment()
    footage = operators.load_demo_datastore(store)
    source = dict(store.tables.provenance(table.id).report)
    opened = operators.open_datastore(store, footage.id)
    return Context(store.tables.load(table.id), source, settings, store, table=table, datastore=opened)


@pytest.fixture
def with_models(context: Context, stub: StubServer) -> Callable[..., Context]:
    """The same with endpoints for some roles; the model under test is known by the name of the table's model."""

    def give(*roles: str) -> Context:
        known = {r: stub.endpoint(f"stub-{r}", label="model-a" if r == "vlm" else "") for r in roles}
        return replace(context, endpoints=known)

    return give

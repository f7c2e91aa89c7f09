"""What a run works with: the table, how it is scored, where footage and models are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from core.llm import Endpoint, Role
from core.scoring import ScoringParameters
from core.seed_table import SeedTable
from core.settings import Settings
from core.storage import SavedTable, Store

if TYPE_CHECKING:
    from core.acquisition.datastore import Datastore
    from core.evaluation import Limits

Cancel = Callable[[], bool]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Context:
    """Everything around a question.

    Attributes:
        seed: Tested slices.
        source: What is known of the file behind them, for manifests.
        settings: Where models, media and caches lie.
        store: The workspace: runs are listed there, calls and results kept.
        params: How slices are scored.
        mode: Similarity mode, None for the default of the ODD.
        table: Saved table, None if the seed came from a file; results are counted into it.
        datastore: Footage, None if there is none.
        endpoints: Models by role.
        limits: Budget of an evaluation, None for the usual one.
        who: Who asks.
        progress: Called with work done and in all.
        cancel: Asked now and then; True stops the run, which can be resumed.
        pause: Asked before each call to a model; calls wait while it says True.
    """

    seed: SeedTable
    source: Mapping[str, Any]
    settings: Settings
    store: Store
    params: ScoringParameters = field(default_factory=ScoringParameters)
    mode: str | None = None
    table: SavedTable | None = None
    datastore: Datastore | None = None
    endpoints: Mapping[Role, Endpoint] = field(default_factory=dict)
    limits: Limits | None = None
    who: str = ""
    progress: Progress | None = None
    cancel: Cancel | None = None
    pause: Cancel | None = None

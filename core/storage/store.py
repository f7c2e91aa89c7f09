"""The workspace: a database and a folder, opened in one call."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from core.errors import InputError
from core.settings import Settings
from core.storage.calls import Calls
from core.storage.campaigns import Campaigns
from core.storage.cases import CaseSets
from core.storage.database import Database, make_database
from core.storage.datastores import Datastores
from core.storage.detections import Detections
from core.storage.drafts import Drafts
from core.storage.evaluation import Results
from core.storage.labels import Labels
from core.storage.media_tags import MediaTags
from core.storage.migrate import migrate
from core.storage.odds import Odds
from core.storage.preferences import Preferences
from core.storage.runs import Runs
from core.storage.slice_hypotheses import SliceHypotheses
from core.storage.slice_judgements import SliceJudgements
from core.storage.tables import Tables
from core.storage.uploads import Uploads, sweep
from core.storage.verification import Verification


@dataclass(frozen=True, eq=False)
class Store:
    """Everything that a workspace keeps. Safe to share between threads; open it once a process.

    Attributes:
        db: The database under all of it.
        odds: ODD documents.
        uploads: Uploaded files.
        drafts: Unfinished imports.
        tables: Seed tables.
        campaigns: Test plans.
        preferences: Small settings.
        runs: Questions to the controller, with their records.
        calls: Calls to models, a cache.
        results: Results of evaluations.
        media_tags: What models said of media.
        verification: What people said of that.
        datastores: Footage.
        cases: Sets of cases of trajectories.
        labels: What people say of cases.
        detections: Sets of detections.
        slice_hypotheses: Hypotheses about them beyond the library.
        slice_judgements: What people say of error slices.
    """

    db: Database
    odds: Odds
    uploads: Uploads
    drafts: Drafts
    tables: Tables
    campaigns: Campaigns
    preferences: Preferences
    runs: Runs
    calls: Calls
    results: Results
    media_tags: MediaTags
    verification: Verification
    datastores: Datastores
    cases: CaseSets
    labels: Labels
    detections: Detections
    slice_hypotheses: SliceHypotheses
    slice_judgements: SliceJudgements

    def close(self) -> None:
        """Let go of the database; the store must not be used afterwards."""
        self.db.engine.dispose()


def open_store(settings: Settings) -> Store:
    """Open the workspace of the settings; make it, or bring it to the newest schema, where needed.

    Raises:
        InputError: The folder cannot be written, the database cannot be reached, or it was made by a newer version.
        MissingPackageError: The driver of PostgreSQL is not installed.
    """
    db = make_database(settings)
    try:
        _prepare(settings.home)
        if db.is_sqlite:
            _prepare(Path(db.name).parent)
        migrate(db)
        _prepare(settings.uploads)
    except BaseException:
        db.engine.dispose()
        raise
    odds = Odds(db)
    uploads = Uploads(db, settings.uploads)
    uploads.sweep()
    sweep(settings.detections)
    return Store(
        db=db,
        odds=odds,
        uploads=uploads,
        drafts=Drafts(db),
        tables=Tables(db, odds),
        campaigns=Campaigns(db, odds),
        preferences=Preferences(db),
        runs=Runs(db, settings.runs),
        calls=Calls(db),
        results=Results(db),
        media_tags=MediaTags(db, odds),
        verification=Verification(db, odds),
        datastores=Datastores(db, odds, settings.datastores),
        cases=CaseSets(db, settings.cases),
        labels=Labels(db),
        detections=Detections(db, settings.detections),
        slice_hypotheses=SliceHypotheses(db),
        slice_judgements=SliceJudgements(db),
    )


def _prepare(folder: Path) -> None:
    """Make a folder and try to write into it, since permissions alone do not tell (read-only mounts, quotas)."""
    probe = folder / f".{uuid4().hex}.part"  # a name that `Uploads.sweep` clears away should the process end right here
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as e:
        raise InputError(
            f'The workspace folder "{folder}" cannot be used: {e.strerror or e}. '
            "Choose a folder that can be written with ODDYSSEY_HOME, or mend its permissions."
        ) from e

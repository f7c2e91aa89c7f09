"""Sets of detections as the workspace knows them: whose they are, and where they lie; boxes are files."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import sqlalchemy as sa

from core.storage import schema
from core.storage.ids import new_id
from core.storage.named import DigestedRecords
from core.storage.names import clean, free, refuse_taken
from core.storage.places import read_place, written_place
from core.storage.schema_slices import detection_set_events, detection_sets

_s, _e = detection_sets.c, detection_set_events.c


@dataclass(frozen=True)
class DetectionFacts:
    """What is kept of a set beside its folder.

    Attributes:
        folder: Where it lies.
        digest: Of everything in it.
        truth_digest: Of images and ground truth alone: two models on the same units share it.
        model: Name of the model, "" if not known.
        task: detection, segmentation or classification.
        images: Number of images.
        truth: Number of ground-truth instances; of labels for a classifier.
        predictions: Number of predictions.
        synthetic: Whether the images are made up, which every screen says.
    """

    folder: Path
    digest: str
    truth_digest: str
    model: str
    task: str
    images: int
    truth: int
    predictions: int
    synthetic: bool


@dataclass(frozen=True)
class SavedDetections(DetectionFacts):
    """What is known of a set of detections without opening it.

    Attributes:
        id: Eight hex digits.
        name: Its present name, unique among the sets that are not deleted.
        created_at: UTC.
        changed_at: Time of the last event, UTC.
        deleted: Whether it lies in the bin.
    """

    id: str
    name: str
    created_at: datetime
    changed_at: datetime
    deleted: bool


@dataclass(frozen=True, eq=False)
class Detections(DigestedRecords[SavedDetections]):
    """The sets of detections of the workspace.

    Attributes:
        parent: Folder in which each has a folder.
    """

    parent: Path
    noun = "set of detections"
    lock = "detection sets"
    table = detection_sets
    events_table = detection_set_events
    event_key = "set_id"

    def save(self, name: str, facts: DetectionFacts, *, who: str = "", free_name: bool = False) -> SavedDetections:
        """Keep what is known of a set whose folder is written.

        Args:
            name: For people.
            facts: What is known.
            who: Who does it.
            free_name: Give the name a number where it is taken, instead of refusing it.

        Raises:
            InputError: The name is empty, too long or taken (a free one is suggested).
        """
        name, at = clean(name, self.noun), schema.now()
        with self.db.write(lock=self.lock) as c:
            taken = self._names(c, but="")
            if free_name:
                name = free(name, taken)
            refuse_taken(name, taken, self.noun)
            set_id = new_id(c, _s.id)
            row = vars(facts) | {"id": set_id, "folder": written_place(facts.folder, self.parent), "created_at": at}
            c.execute(detection_sets.insert().values(row))
            self._append(c, set_id, "created", name, who, at)
            return self._get(c, set_id)

    def _all(self, c: sa.Connection, where: sa.ColumnElement[bool] | None = None) -> tuple[SavedDetections, ...]:
        query = (
            sa.select(detection_sets, _e.kind, _e.name, _e.at)
            .join_from(detection_sets, detection_set_events)
            .where(_e.seq.in_(self._newest()), sa.true() if where is None else where)
            .order_by(_s.created_at.desc(), _s.id)
        )
        return tuple(
            SavedDetections(
                folder=read_place(r.folder, self.parent),
                digest=r.digest,
                truth_digest=r.truth_digest,
                model=r.model,
                task=r.task,
                images=r.images,
                truth=r.truth,
                predictions=r.predictions,
                synthetic=r.synthetic,
                id=r.id,
                name=r.name,
                created_at=r.created_at,
                changed_at=r.at,
                deleted=r.kind == "deleted",
            )
            for r in c.execute(query)
        )

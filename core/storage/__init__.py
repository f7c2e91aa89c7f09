"""The store: what a workspace keeps, append-only, in SQLite or PostgreSQL."""

from core.llm.calls import StoredCall
from core.storage.campaign_records import STATUSES, CampaignContent, PlannedSlice, SavedCampaign, SliceState, Status, StatusEvent
from core.storage.cases import SavedCaseSet
from core.storage.datastores import SavedDatastore
from core.storage.detections import DetectionFacts, SavedDetections
from core.storage.drafts import Draft
from core.storage.evaluation import EvaluationRun, ResultRow
from core.storage.growth import TableVersion
from core.storage.runs import SavedRun
from core.storage.slice_judgements import JUDGEMENTS, Judgement, NewJudgement
from core.storage.store import Store, open_store
from core.storage.tables import Provenance, SavedTable
from core.storage.uploads import Upload
from core.storage.verification_records import (
    ANSWERS,
    QUESTION_ANSWER,
    Answer,
    AnswerEvent,
    QueueItem,
    SavedQueue,
    Statement,
    TagRecord,
    Written,
    asked_key,
)

__all__ = [
    "ANSWERS",
    "JUDGEMENTS",
    "QUESTION_ANSWER",
    "STATUSES",
    "Answer",
    "AnswerEvent",
    "CampaignContent",
    "DetectionFacts",
    "Draft",
    "EvaluationRun",
    "Judgement",
    "NewJudgement",
    "PlannedSlice",
    "Provenance",
    "QueueItem",
    "ResultRow",
    "SavedCampaign",
    "SavedCaseSet",
    "SavedDatastore",
    "SavedDetections",
    "SavedQueue",
    "SavedRun",
    "SavedTable",
    "SliceState",
    "Statement",
    "Status",
    "StatusEvent",
    "Store",
    "StoredCall",
    "TableVersion",
    "TagRecord",
    "Upload",
    "Written",
    "asked_key",
    "open_store",
]

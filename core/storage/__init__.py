"""The store: what a workspace keeps, append-only, in SQLite or PostgreSQL."""

from core.storage.campaign_records import STATUSES, CampaignContent, PlannedSlice, SavedCampaign, SliceState, Status, StatusEvent
from core.storage.drafts import Draft
from core.storage.runs import SavedRun
from core.storage.store import Store, open_store
from core.storage.tables import Provenance, SavedTable
from core.storage.uploads import Upload

__all__ = [
    "STATUSES",
    "CampaignContent",
    "Draft",
    "PlannedSlice",
    "Provenance",
    "SavedCampaign",
    "SavedRun",
    "SavedTable",
    "SliceState",
    "Status",
    "StatusEvent",
    "Store",
    "Upload",
    "open_store",
]

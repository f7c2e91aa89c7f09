"""Tables of calls to models, of what came of each sample, and of the growth of seed tables.

Results and versions are only ever appended to. Calls are a cache: a row is written before a call is sent and completed when its
answer is there; an answer that is there is never replaced.
"""

from __future__ import annotations

import sqlalchemy as sa

from core.storage.schema import JsonText, SequenceNumber, UtcTime, metadata

model_calls = sa.Table(
    "model_calls",
    metadata,
    sa.Column("key", sa.String(64), primary_key=True),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("response", JsonText, nullable=False),
    sa.Column("usage", JsonText, nullable=False),
    sa.Column("latency", sa.Double, nullable=False),
    sa.Column("error", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""Calls to models by the hash of everything that shapes the answer."""

evaluations = sa.Table(
    "evaluations",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("run_id", sa.String(64), nullable=False, index=True),
    sa.Column("model", JsonText, nullable=False),
    sa.Column("judge", JsonText, nullable=False),
    sa.Column("manifest", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""Every start of an evaluation, or import of results: which model, which judge, with what."""

evaluation_results = sa.Table(
    "evaluation_results",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("run_id", sa.String(64), nullable=False),
    sa.Column("item_id", JsonText, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("key", sa.String(64), nullable=False),
    sa.Column("sample", sa.String(64), nullable=False),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("score", sa.Double, nullable=True),
    sa.Column("scored_by", sa.String(20), nullable=False),
    sa.Column("verdict", sa.String(20), nullable=False),
    sa.Column("requested", JsonText, nullable=False),
    sa.Column("realised", JsonText, nullable=False),
    sa.Column("detail", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("why", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
    sa.UniqueConstraint("run_id", "item_id", "version"),
)
"""What came of each sample of each run; the newest version of a sample counts, a person's word before a machine's."""

seed_table_versions = sa.Table(
    "seed_table_versions",
    metadata,
    sa.Column("seq", SequenceNumber, primary_key=True),
    sa.Column("table_id", sa.String(16), sa.ForeignKey("seed_tables.id"), nullable=False, index=True),
    sa.Column("kind", sa.String(20), nullable=False),
    sa.Column("run_id", sa.String(64), nullable=False),
    sa.Column("partial", sa.Boolean, nullable=False),
    sa.Column("results_seq", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("total", sa.BigInteger, nullable=False),
    sa.Column("model", JsonText, nullable=False),
    sa.Column("report", JsonText, nullable=False),
    sa.Column("who", JsonText, nullable=False),
    sa.Column("at", UtcTime, nullable=False),
)
"""What a seed table is after a run was counted into it, undone, or corrected; no row means: as it was imported."""

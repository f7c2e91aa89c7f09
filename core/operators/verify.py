"""People check what taggers and requests say of media, and what they say counts from then on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from core.acquisition.candidates import Candidate
from core.acquisition.fidelity import Tag
from core.acquisition.normalise import CATEGORY
from core.acquisition.tagging import Said
from core.acquisition.verification import (
    SAMPLE,
    AttributeReport,
    VerificationReport,
    confirmed,
    coverage_of,
    media_of,
    question_of,
    report,
    stratified,
)
from core.errors import InputError, Problem
from core.evaluation.images import read_image, sha_of
from core.odd import Odd
from core.operators.tag import TagResult
from core.storage import QUESTION_ANSWER, Answer, QueueItem, SavedQueue, Statement, Store, TagRecord, Written, asked_key

Source = TagResult | Sequence[Candidate] | Sequence[QueueItem]


def queue_items(source: Source) -> tuple[QueueItem, ...]:
    """What can be judged of tagged media, or of candidates: every tag that is one value.

    Of a candidate that was made, what it was meant to show is judged.
    """
    if isinstance(source, TagResult):
        return tuple(
            QueueItem(x.id, x.media.paths, _single(x.tags), x.media.question, x.media.options, x.media.answer) for x in source.items if x.id
        )
    return tuple(x if isinstance(x, QueueItem) else _item(x) for x in source)


def with_content(item: QueueItem) -> QueueItem:
    """The item under the content hash of its image, where that can be read: so answers find every sample with this image."""
    if len(item.paths) != 1:
        return item
    try:
        return replace(item, media=sha_of(read_image(item.paths[0])))
    except InputError:
        return item


def draw_queue(
    store: Store,
    name: str,
    source: Source,
    odd: Odd,
    *,
    size: int = SAMPLE,
    seed: int = 0,
    what: Mapping[str, Any] | None = None,
    who: str = "",
) -> SavedQueue:
    """Draw a stratified sample of media and keep it to be judged by people.

    Args:
        store: Keeps it.
        name: Of the queue.
        source: Tagged media, candidates, or items.
        odd: Whose values are judged.
        size: Items to draw, all if there are fewer.
        seed: Of the draw; the same source, size and seed give the same sample.
        what: What the source is, for the record.
        who: Who draws it.

    Raises:
        InputError: The size makes no sense, the name cannot be used, or nothing can be judged.
    """
    if size < 1:
        raise InputError(f"A sample has at least one item; got {size}.")
    pool = queue_items(source)
    drawn = tuple(with_content(x) for x in stratified(pool, size, seed))
    told = dict(source.manifest) if isinstance(source, TagResult) else {}
    manifest = {
        "source": {**told, **(what or {})},
        "pool": sum(1 for x in pool if x.statements),
        "size": size,
        "seed": seed,
        "draw": "balanced over the values of each dimension, not in proportion to how often they come",
        "pool_by_value": coverage_of(pool),
        "sample_by_value": coverage_of(drawn),
    }
    return store.verification.save(name, odd=odd, manifest=manifest, items=drawn, who=who)


def verification_report(store: Store, queue_id: str, odd: Odd | None = None, *, repeats: int = 2_000) -> VerificationReport:
    """What people's answers to a queue come to.

    Raises:
        InputError: There is no such queue.
    """
    items = store.verification.items(queue_id)
    odd = odd or store.odds.get(store.verification.get(queue_id).odd_hash)
    answers = store.verification.present(s for x in items for s in x.statements)
    return report(items, answers, odd, repeats=repeats)


def confirm(
    store: Store,
    target: Candidate | str,
    answers: Mapping[str, Answer],
    who: str,
    *,
    values: Mapping[str, str] | None = None,
    queue_id: str = "",
    seen: Mapping[Statement, int] | None = None,
) -> Written:
    """Keep what a person says of a candidate or of media.

    Args:
        store: Keeps it.
        target: A candidate, or the content hash of media.
        answers: "yes", "no" or "unsure" per dimension.
        who: Who says it.
        values: Value that the answer is about, per dimension. Of a candidate it is the one it is said to show, or else the one
            that was asked for.
        queue_id: Queue in which it is said, "" if in none.
        seen: See `Verification.answer`.

    Raises:
        InputError: Nobody is named, an answer is none, or it is not clear what value it is about.
    """
    known = {**(_single(target.tags) if isinstance(target, Candidate) else {}), **(values or {})}
    asked = target.requested if isinstance(target, Candidate) else {}
    media = media_of(target) if isinstance(target, Candidate) else target
    asked_of = question_of(target) if isinstance(target, Candidate) else target
    about = {d: known.get(d) or asked.get(d, "") for d in answers}
    if unclear := [Problem(None, d, str(answers[d]), "a dimension with a value to judge") for d, v in about.items() if not v]:
        raise InputError("It is not clear which value an answer is about; nothing was written.", unclear)
    given = {Statement(asked_of if d == CATEGORY else media, d, about[d]): a for d, a in answers.items()}
    return store.verification.answer(given, who, queue_id=queue_id, seen=seen)


def apply_confirmations(store: Store, candidates: Sequence[Candidate], odd: Odd, *, least: float = 0.0) -> tuple[Candidate, ...]:
    """Candidates with what people and taggers of this workspace said of their media since they were found or made.

    The newest record of a tagger counts. A dimension that was meant, missing or ambiguous becomes a match or a mismatch; an
    item of the evaluation is made anew from the candidate (`item_of`), so that its verdict and realised slice follow.

    Args:
        store: What was said.
        candidates: To be looked at again.
        odd: Grades the tags.
        least: Confidence below which a tagger settles nothing.
    """
    media = {media_of(c) for c in candidates}
    heard = store.verification.about(media | {question_of(c) for c in candidates})
    return confirmed(candidates, odd, heard, tags_about(store, media, least))


def tags_about(store: Store, media: Iterable[str], least: float = 0.0) -> dict[str, dict[str, Tag]]:
    """The newest tag of each dimension that a model gave to some media, under `asked_key` that of a question about them.

    What it gave no tag is left out.
    """
    out: dict[str, dict[str, Tag]] = {}
    for r in store.media_tags.about(list(media)):  # the oldest first
        about = asked_key(r.media, r.content.get("question", ""))
        for d, said in said_of(r).items():
            if said.tag is not None:
                out.setdefault(about, {})[d] = said.at_least(least).tag
    return out


def answers_csv(store: Store, queue_id: str) -> bytes:
    """Every answer that was given in a queue and every step taken back, one row each, the oldest first.

    Raises:
        InputError: There is no such queue.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["at", "who", "media_sha256", "attribute", "value", "answer", "number", "step", "takes_back"])
    for e in store.verification.log(queue_id):
        s = e.statement
        row = [e.at.isoformat(), e.who, s.media, s.attribute, s.value, e.answer or "withdrawn", e.number, e.batch, e.undoes]
        writer.writerow([_plain(x) for x in row])
    return out.getvalue().encode()


def verification_object(found: VerificationReport) -> dict[str, Any]:
    """A report as JSON-ready data."""
    rows = [_attribute_object(a) for a in (found.pooled, *found.attributes)]
    return {**asdict(found), "people": dict(found.people), "pooled": rows[0], "attributes": rows[1:]}


def _attribute_object(a: AttributeReport) -> dict[str, Any]:
    return asdict(a) | {"counts": dict(a.counts)}


def _item(c: Candidate) -> QueueItem:
    meant = {d: v for d, v in c.requested.items() if c.source == "synthetic" and d not in c.confirmed}
    question = c.question if c.source == "datastore" else ""  # that of a made image is a template: its tags are what is judged
    return QueueItem(media_of(c), (c.path,), {**meant, **_single(c.tags)}, question, c.options, c.answer, c.caption)


def _single(tags: Mapping[str, Tag]) -> dict[str, str]:
    return {d: v for d, v in tags.items() if isinstance(v, str) and d != QUESTION_ANSWER}


def said_of(record: TagRecord) -> dict[str, Said]:
    """What a record of a tagger says, per dimension."""
    return {d: Said.from_dict(x) for d, x in record.content.get("tags", {}).items()}


def _plain(cell: object) -> object:
    """A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" else cell

"""Samples for slices: looked for in a datastore, made where that does not suffice, each beside what was asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from core.acquisition.candidates import Candidate
from core.acquisition.datastore import Datastore, Row
from core.acquisition.fidelity import UNSPECIFIED, Tag, fidelity, verdict_of
from core.acquisition.locate import Located, locate
from core.acquisition.normalise import CATEGORY
from core.acquisition.query import NEAR, POOL, Found, find, slice_words, spread
from core.acquisition.questions import QuestionsDoc, shipped_questions, template_question
from core.digest import sha256_bytes, sha256_json
from core.errors import InputError, MissingPackageError, OddysseyError, Problem
from core.evaluation.items import Item
from core.llm import Endpoint
from core.odd import Odd
from core.settings import Settings
from core.similarity.encoder import Encoder

AcquireFrom = Literal["datastore", "datastore_then_synthesis", "synthesis"]
Progress = Callable[[int, int], None]
Cancel = Callable[[], bool]


@dataclass(frozen=True)
class Acquired:
    """What came of an acquisition.

    Attributes:
        candidates: In the order of the slices, best first: those that match, then near misses, then made ones.
        items: Those of them that can be evaluated: with a question, and media that are there.
        unfilled: Slices without enough samples: slice, rank, wanted, valid, lacking, reason.
        counts: What was found and left out.
        manifest: What it rests on.
    """

    candidates: tuple[Candidate, ...]
    items: tuple[Item, ...]
    unfilled: tuple[dict[str, Any], ...]
    counts: dict[str, int]
    manifest: dict[str, Any] = field(default_factory=dict)


def acquire(
    odd: Odd,
    slices: Sequence[Mapping[str, str]],
    datastore: Datastore | None,
    *,
    source: AcquireFrom,
    per_slice: int,
    settings: Settings,
    images: Endpoint | None = None,
    media: Path,
    progress: Progress | None = None,
    cancel: Cancel | None = None,
    made: Sequence[Candidate] = (),
    questions: QuestionsDoc | None = None,
) -> Acquired:
    """Finds or makes samples for slices. Looking is deterministic; what is made depends on the server that makes it.

    Args:
        odd: Tells parents of values.
        slices: Value per dimension; only the dimensions named are asked for.
        datastore: Where to look, None if there is none.
        source: Look, look and then make, or make.
        per_slice: Samples wanted of each slice.
        settings: Of the encoder, where the datastore has vectors of captions.
        images: Endpoint that makes images, None if there is none.
        media: Folder of images that are made.
        progress: Called with slices done and in all.
        cancel: Asked before each slice; True ends it, and the slices left are told as unfilled.
        made: Candidates that were made before and are taken instead of making new ones.
        questions: Templates for samples without a question; those that ship by default.

    Raises:
        InputError: A slice names what the ODD does not have, or the numbers make no sense.
    """
    _check(odd, slices, source, per_slice)
    doc = questions or shipped_questions()
    look = datastore if source != "synthesis" else None
    vectors, compared = _vectors(look, slices, settings)
    counts: Counter[str] = Counter()
    candidates: list[Candidate] = []
    items: list[Item] = []
    unfilled: list[dict[str, Any]] = []
    maker, stopped = _Maker(odd, source, images, media, made), False
    try:
        for i, requested in enumerate(slices):
            stopped = stopped or (cancel is not None and cancel())
            looked = _Looked() if look is None or stopped else _look(odd, look, requested, vectors[i], per_slice, doc, counts)
            found = looked.found
            valid = [(c, item) for c, item in found if c.verdict == "valid" and item is not None]
            lacking = per_slice - len(valid)
            reason = "it was stopped" if stopped else _why(source, datastore, requested, looked)
            if lacking and not stopped:
                new, failed = maker.make(requested, lacking, doc)
                found = [*found, *new]
                lacking -= sum(item is not None for _, item in new)
                counts["no_question"] += sum(item is None for _, item in new)
                reason += failed
            if lacking:
                entry = {"slice": dict(requested), "rank": i + 1, "wanted": per_slice, "valid": len(valid)}
                unfilled.append(entry | {"lacking": lacking, "reason": f"{reason}."})
            candidates += [c for c, _ in found]
            items += [item for _, item in found if item is not None]
            if progress:
                progress(i + 1, len(slices))
    finally:
        maker.close()
    counts.update(f"{c.verdict}" for c in candidates)
    counts["made"] = sum(c.source == "synthetic" for c in candidates)
    counts |= {"slices": len(slices), "unfilled": len(unfilled), "candidates": len(candidates), "items": len(items)}
    counts["uncategorised"] = sum(c.fidelity.get(CATEGORY) == "missing" for c in candidates)
    return Acquired(
        candidates=tuple(candidates),
        items=tuple(items),
        unfilled=tuple(unfilled),
        counts={k: counts[k] for k in COUNTED},
        manifest={
            "datastore": {"name": look.name, "digest": look.digest, "rows": look.rows, "synthetic": look.synthetic} if look else None,
            "odd": {"name": odd.name, "sha256": odd.hash},
            "slices_sha256": sha256_json([dict(s) for s in slices]),
            "source": source,
            "per_slice": per_slice,
            "captions": compared,
            "near_miss": f"at most {NEAR} dimensions contradict",
            "order": f"matches, contradictions, caption (best {POOL:,}), id; one of each source first; copies left out",
            "questions_sha256": doc.sha256,
            "images": images.name if images and source != "datastore" else None,
        },
    )


COUNTED = (
    *("slices", "unfilled", "candidates", "valid", "partial", "invalid", "made", "items"),
    *("copies", "passed_over", "no_question", "no_media", "media_changed", "uncategorised"),
)
"""Counts of an acquisition: copies of the rows that were taken, rows that gave way to other sources, rows that were looked at and
cannot be evaluated and why, and candidates whose own question has no category."""
TRIED = 100
"""Matching rows of a slice that are looked at, at most, beyond those wanted, where some have no question or no media here."""


def _check(odd: Odd, slices: Sequence[Mapping[str, str]], source: str, per_slice: int) -> None:
    problems = []
    if source not in get_args(AcquireFrom):
        problems.append(Problem(None, "source", source, ", ".join(get_args(AcquireFrom))))
    if per_slice < 1:
        problems.append(Problem(None, "samples per slice", str(per_slice), "a whole number of at least 1"))
    for row, s in enumerate(slices, 1):
        for d, v in s.items():
            if d not in odd.by_name:
                problems.append(Problem(row, d, v, f"a dimension: {', '.join(odd.names)}"))
            elif v not in odd.by_name[d].by_name:
                problems.append(Problem(row, d, v, ", ".join(odd.by_name[d].by_name)))
        if not s:
            problems.append(Problem(row, "slice", "", "at least one dimension"))
    if problems:
        raise InputError("No samples can be looked for:", problems)


def _vectors(look: Datastore | None, slices: Sequence[Mapping[str, str]], settings: Settings) -> tuple[Sequence[Any], str]:
    """The vector of each slice's text, or None for each; and what is to be said of it."""
    nothing = [None] * len(slices)
    if look is None:
        return nothing, "not compared: nothing was looked for"
    if look.captions is None:
        return nothing, "not compared: the datastore was imported without vectors of its captions"
    try:
        encoder = Encoder.from_settings(settings)
    except MissingPackageError as e:
        return nothing, f"not compared: {e}"
    if encoder.model_id != look.captions.model:
        return nothing, f"not compared: they were encoded by {look.captions.model}, and this machine has {encoder.model_id}"
    return list(encoder.encode([slice_words(s) for s in slices])), f"compared by {encoder.model_id}"


@dataclass(frozen=True)
class _Looked:
    """What a look into a datastore gave for a slice.

    Attributes:
        found: Candidates with their items, best first.
        best: Most dimensions that any row matches.
        matching: Rows that match in all of them.
        tried: Of these, those that were looked at.
        useless: Of these, those without a question or without media.
    """

    found: list[tuple[Candidate, Item | None]] = field(default_factory=list)
    best: int = 0
    matching: int = 0
    tried: int = 0
    useless: int = 0


def _look(
    odd: Odd, look: Datastore, requested: Mapping[str, str], vector: Any, per_slice: int, doc: QuestionsDoc, counts: Counter[str]
) -> _Looked:
    """The candidates of a datastore: rows that match and can be evaluated, where these do not suffice others, then near misses."""
    found = find(look, odd, requested, vector)
    full, made, useless = found.valid, dict[int, tuple[Candidate, Item | None]](), set[int]()
    while True:
        picked = spread(found, look.group, per_slice, useless)
        new = [i for i in picked.at if i not in made and full[i]]
        for i, row in zip(new, look.fetch([int(found.rows[i]) for i in new]), strict=True):
            made[i] = _of_row(odd, look, requested, row, found, i, doc, counts)
        worse = {i for i in new if made[i][1] is None or made[i][0].verdict != "valid"}
        useless |= worse
        if not worse or len(made) >= per_slice + TRIED:
            break
    tried = len(made)
    usable = [i for i in picked.at if full[i] and i not in useless]
    shown = [*usable, *sorted(useless)[: per_slice - len(usable)]]
    near = [i for i in picked.at if not full[i]][: per_slice - len(shown)]
    for i, row in zip(near, look.fetch([int(found.rows[i]) for i in near]), strict=True):
        made[i] = _of_row(odd, look, requested, row, found, i, doc, counts)
    order = sorted([*shown, *near])
    counts["passed_over"] += picked.passed_over
    counts["copies"] += sum(int(look.copies[found.rows[i]]) for i in order)
    return _Looked([made[i] for i in order], int(found.matches.max(initial=0)), found.matching, tried, len(useless))


def _of_row(
    odd: Odd, look: Datastore, requested: Mapping[str, str], row: Row, found: Found, at: int, doc: QuestionsDoc, counts: Counter[str]
) -> tuple[Candidate, Item | None]:
    similarity = float(found.similarity[at]) if found.similarity is not None else None
    return _with_media(_candidate(odd, requested, row, similarity, doc), look, row, counts)


def _candidate(odd: Odd, requested: Mapping[str, str], row: Row, similarity: float | None, doc: QuestionsDoc) -> Candidate:
    tags: dict[str, Tag] = {d: row.tags.get(d) for d in requested}
    for d, v in requested.items():
        if v == UNSPECIFIED and tags[d] is None:
            tags[d] = UNSPECIFIED  # no statement was asked for, and none is made
    question: dict[str, Any] = {}
    if row.question:
        question = {"question": row.question, "options": row.options, "answer": row.answer, "qa_type": row.qa_type, "qa_origin": "dataset"}
    elif CATEGORY in requested and row.tags.get(CATEGORY) in (None, requested[CATEGORY]):
        question = _template(odd, row.tags, requested[CATEGORY], row.sha256 or row.path or row.id, doc)
        tags[CATEGORY] = requested[CATEGORY] if question else None
    elif CATEGORY not in requested:
        categories = [v.name for v in odd.by_name[CATEGORY].values] if CATEGORY in odd.by_name else []
        key = row.sha256 or row.path or row.id
        order = sorted(categories, key=lambda c: sha256_bytes(f"{key}\x1f{c}".encode()))
        question = next((q for c in order if (q := _template(odd, row.tags, c, key, doc))), {})
    flags = fidelity(odd, requested, tags)
    return Candidate(
        id=sha256_json([dict(requested), row.id, question.get("question", ""), question.get("options", ())])[:16],
        source="datastore",
        path=row.path,
        requested=dict(requested),
        tags=tags,
        fidelity=flags,
        verdict=verdict_of(flags),
        matches=sum(f == "match" for f in flags.values()),
        media_sha256=row.sha256,
        dataset=row.dataset,
        split=row.split,
        licence=row.licence,
        group=row.group,
        caption=row.caption,
        similarity=similarity,
        synthetic=row.synthetic,
        made_by={"derived": {d: r for d, r in row.by.items() if d in requested}} if any(d in requested for d in row.by) else {},
        **question,
    )


def _template(odd: Odd, tags: Mapping[str, Tag], category: str, key: str, doc: QuestionsDoc) -> dict[str, Any]:
    made = template_question(odd, tags, category, key, doc)
    if made is None:
        return {}
    return {"question": made.question, "options": made.options, "answer": made.answer, "qa_type": "MCQ", "qa_origin": "template"}


def _with_media(candidate: Candidate, look: Datastore, row: Row, counts: Counter[str]) -> tuple[Candidate, Item | None]:
    """The candidate with the hash of its media, and its item if it can be evaluated."""
    found = locate(look, row)
    candidate = replace(candidate, path=found.path, media_sha256=found.sha256)
    if found.flaw:
        counts[found.flaw] += 1
        return candidate, None
    return candidate, item_of(candidate, look.root, counts, found)


def item_of(candidate: Candidate, root: Path | None, counts: Counter[str] | None = None, found: Located | None = None) -> Item | None:
    """A candidate as an item of the evaluation, None if it has no question; its one image by default, else those found."""
    if not candidate.question:
        if counts is not None:
            counts["no_question"] += 1
        return None
    return Item(
        id=candidate.id,
        images=found.images if found else (candidate.path,),
        question=candidate.question,
        options=candidate.options,
        answer=candidate.answer,
        qa_type="VQA" if candidate.qa_type == "VQA" else "MCQ",
        requested=candidate.requested,
        realised=candidate.realised,
        verdict=candidate.verdict,
        source=candidate.source,
        qa_origin=candidate.qa_origin,
        dataset=candidate.dataset,
        image_sha256=found.image_sha256 if found else (candidate.media_sha256,),
        root=str(root) if root is not None else "",
    )


def _why(source: str, datastore: Datastore | None, requested: Mapping[str, str], looked: _Looked) -> str:
    """Why a slice lacks samples from the datastore."""
    if source == "synthesis":
        return "images were to be made"
    if datastore is None:
        return "there is no footage to look in"
    if not looked.matching:
        return f"no row matches; the best match {looked.best} of {len(requested)} dimensions"
    told = f"{looked.matching:,} rows match"
    if looked.useless:
        of = "them" if looked.tried >= looked.matching else f"the {looked.tried:,} that were looked at"
        told += f", {looked.useless:,} of {of} without a question or without their media on this machine"
    return told


class _Maker:
    """Makes images where an endpoint is there, or takes those that were made before."""

    def __init__(self, odd: Odd, source: str, images: Endpoint | None, media: Path, made: Sequence[Candidate]) -> None:
        self.odd, self.source, self.images, self.media = odd, source, images, media
        self.made = [c for c in made if c.source == "synthetic"]
        self.client: Any = None

    def make(self, requested: Mapping[str, str], count: int, doc: QuestionsDoc) -> tuple[list[tuple[Candidate, Item | None]], str]:
        """As many as can be made, and why it is not more."""
        kept = [c for c in self.made if dict(c.requested) == dict(requested)][:count]
        if kept or self.source == "datastore":
            return [(c, item_of(c, self.media)) for c in kept], ""
        if self.images is None:
            return [], "; no endpoint makes images"
        from core.acquisition.synthesis import synthesize
        from core.llm import Client

        if self.client is None:
            self.client = Client(self.images)
        out: list[tuple[Candidate, Item | None]] = []
        seen: set[str] = set()
        for k in range(count):
            try:
                candidate = synthesize(self.odd, requested, k, self.client, self.media, questions=doc)
            except OddysseyError as e:
                return out, f"; an image could not be made: {str(e).splitlines()[0].rstrip('.')}"
            if candidate.id in seen:  # a server without seeds: one image is one sample, however often it was asked for
                return out, f"; the server made the same image again, so there are {len(out):,}"
            seen.add(candidate.id)
            out.append(self._settle(candidate))
        if any(item is None for _, item in out):
            return out, "; no question can be asked of images of it"
        return out, ""

    def _settle(self, candidate: Candidate) -> tuple[Candidate, Item | None]:
        """A made candidate with its path below the folder of made images, so that it says the same on every machine."""
        path = Path(candidate.path)
        if path.is_absolute() and path.is_relative_to(self.media):
            candidate = replace(candidate, path=path.relative_to(self.media).as_posix())
        return candidate, item_of(candidate, self.media)

    def close(self) -> None:
        """Let go of the client."""
        if self.client is not None:
            self.client.close()

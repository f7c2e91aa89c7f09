"""People check tags: which media they are shown, what their answers come to, and what that does to the fidelity of samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from core.acquisition.candidates import Candidate, Flag
from core.acquisition.fidelity import Tag, fidelity, verdict_of
from core.acquisition.normalise import CATEGORY
from core.digest import sha256_json
from core.labels.agreement import Agreement, Precision, agreement, precision
from core.odd import Odd
from core.storage import ANSWERS, QUESTION_ANSWER, Answer, QueueItem, Statement, asked_key

SAMPLE = 100
"""Size of the sample in the paper (SliceNav, appendix D)."""

Answers = Mapping[Statement, Mapping[str, Answer]]
"""The answer that counts, per statement and person."""
Opinion = Literal["yes", "no", "open"]


@dataclass(frozen=True)
class AttributeReport:
    """What people said of one attribute, or of all pooled.

    Attributes:
        attribute: Its name, "" for all.
        asked: Statements in the sample.
        answered: Those with an answer.
        counts: Answers by kind.
        precision: How often the tagger was right, statement by statement.
        agreement: Over Yes, No and Unsure.
        decided: The same with each Unsure taken as no answer.
    """

    attribute: str
    asked: int
    answered: int
    counts: Mapping[str, int]
    precision: Precision
    agreement: Agreement
    decided: Agreement


@dataclass(frozen=True)
class VerificationReport:
    """What came of a queue.

    Attributes:
        people: Statements answered per person, by name.
        items, statements: In the sample.
        done: Items that somebody has answered in full.
        pooled: Over all attributes.
        attributes: Each by itself, in the order of the ODD, question and answer last.
    """

    people: Mapping[str, int]
    items: int
    statements: int
    done: int
    pooled: AttributeReport
    attributes: tuple[AttributeReport, ...]


def stratified(items: Sequence[QueueItem], size: int = SAMPLE, seed: int = 0) -> tuple[QueueItem, ...]:
    """A sample in which every value of every dimension comes as evenly as the items allow.

    Each draw takes the value that was drawn least so far (the rarer one first where two stand equal) and, of the items with it,
    the next by a lot that depends on the seed and the item alone. So the same items and seed give the same sample, in whatever
    order the items come. Media that come several times are asked about once for each question.

    Args:
        items: To draw from; those without a statement are left out.
        size: Items to draw.
        seed: Of the lots.
    """
    lots = {_lot(seed, x): x for x in items if x.statements}
    order = sorted(lots)
    strata: dict[tuple[str, str], list[str]] = {}
    for lot in order:
        for stratum in lots[lot].tags.items():
            strata.setdefault(stratum, []).append(lot)
    total = {s: len(members) for s, members in strata.items()}
    drawn: Counter[tuple[str, str]] = Counter()
    place = dict.fromkeys(strata, 0)
    taken: dict[str, None] = {}
    while len(taken) < min(size, len(order)):
        for s, members in strata.items():
            while place[s] < len(members) and members[place[s]] in taken:
                place[s] += 1
        open_ = [s for s, members in strata.items() if place[s] < len(members)]
        if not open_:  # what is left carries a question alone
            taken |= dict.fromkeys([lot for lot in order if lot not in taken][: size - len(taken)])
            break
        least = min(open_, key=lambda s: (drawn[s], total[s], s))
        lot = strata[least][place[least]]
        taken[lot] = None
        drawn.update(lots[lot].tags.items())
    return tuple(lots[lot] for lot in sorted(taken))  # in an order that does not tell why each was drawn


def coverage_of(items: Sequence[QueueItem]) -> dict[str, dict[str, int]]:
    """Items per value of each dimension."""
    out: dict[str, dict[str, int]] = {}
    for x in items:
        for d, v in x.tags.items():
            out.setdefault(d, {})[v] = out.get(d, {}).get(v, 0) + 1
    return out


def report(items: Sequence[QueueItem], answers: Answers, odd: Odd, *, repeats: int = 2_000) -> VerificationReport:
    """What people's answers to a sample come to.

    Args:
        items: The sample.
        answers: The answers that count.
        odd: Gives the order of the attributes.
        repeats: Resamples of the bootstrap.
    """
    media = {s: x.media for x in items for s in x.statements}
    by_attribute: dict[str, list[Statement]] = {name: [] for name in (*odd.names, QUESTION_ANSWER)}
    every: list[Statement] = []
    for s in media:
        by_attribute.setdefault(s.attribute, []).append(s)
        every.append(s)
    people = Counter(who for s in every for who in answers.get(s, ()))
    done = sum(1 for x in items if any(all(who in answers.get(s, ()) for s in x.statements) for who in people))
    attributes = [_attribute(name, found, media, answers, repeats) for name, found in by_attribute.items() if found]
    return VerificationReport(
        people=dict(sorted(people.items())),
        items=len(items),
        statements=len(every),
        done=done,
        pooled=_attribute("", every, media, answers, repeats),
        attributes=tuple(attributes),
    )


def _attribute(
    name: str, statements: Sequence[Statement], about: Mapping[Statement, str], answers: Answers, repeats: int
) -> AttributeReport:
    rows = [Counter(answers.get(s, {}).values()) for s in statements]
    table = np.array([[row[a] for a in ANSWERS] for row in rows], dtype=np.int64).reshape(-1, len(ANSWERS))
    media = [about[s] for s in statements]
    return AttributeReport(
        attribute=name,
        asked=len(statements),
        answered=sum(1 for row in rows if row),
        counts={a: sum(row[a] for row in rows) for a in ANSWERS},
        precision=precision(table[:, 0], table[:, 1], table[:, 2]),
        agreement=agreement(table, media, repeats=repeats),
        decided=agreement(table[:, :2], media, repeats=repeats),
    )


def opinion(answers: Collection[Answer]) -> Opinion:
    """What the majority of those who decided says; open without one."""
    count = Counter(answers)
    return "yes" if count["yes"] > count["no"] else "no" if count["no"] > count["yes"] else "open"


def media_of(candidate: Candidate) -> str:
    """What stands for the media of a candidate in statements."""
    return media_key(candidate.media_sha256, candidate.path, candidate.id)


def question_of(candidate: Candidate) -> str:
    """What stands for the question of a candidate in statements on its category."""
    return asked_key(media_of(candidate), candidate.question if candidate.source == "datastore" else "")


def media_key(sha256: str, path: str, otherwise: str) -> str:
    """What stands for media: the content hash; where that is not known, a digest of the path, or of something else."""
    return sha256 or (sha256_json(["path", path]) if path else sha256_json(["id", otherwise]))


def confirmed(
    candidates: Sequence[Candidate], odd: Odd, answers: Answers, tagged: Mapping[str, Mapping[str, Tag]] | None = None
) -> tuple[Candidate, ...]:
    """Candidates with what people and taggers said of them since.

    A person's word beats a tagger's, and both beat what the manifest or the request said: Yes to a value makes it the tag, No to
    it takes it away and, where it was asked for, makes the dimension a mismatch; No to a value that nobody claimed settles nothing.
    A tie, Unsure and silence change nothing.
    A tagger settles only what was missing or ambiguous, such as what an image was meant to show when it was made.

    Args:
        candidates: To be looked at again.
        odd: Grades the tags.
        answers: Answers that count, about anything said of their media.
        tagged: Tags that a model gave since, per media and dimension; the category of a question under `question_of`.
    """
    by_media: dict[str, list[tuple[Statement, Opinion]]] = {}
    for s, by in answers.items():
        if (said := opinion(list(by.values()))) != "open":
            by_media.setdefault(s.media, []).append((s, said))
    out = []
    for c in candidates:
        media, question = media_of(c), question_of(c)
        heard = [x for x in by_media.get(media, []) if x[0].attribute != CATEGORY]
        heard += [x for x in by_media.get(question, []) if x[0].attribute == CATEGORY]
        tags = {d: t for d, t in (tagged or {}).get(media, {}).items() if d != CATEGORY}
        tags |= {d: t for d, t in (tagged or {}).get(question, {}).items() if d == CATEGORY}
        out.append(_confirmed(c, odd, heard, tags))
    return tuple(out)


def _confirmed(c: Candidate, odd: Odd, said: Sequence[tuple[Statement, Opinion]], tagged: Mapping[str, Tag]) -> Candidate:
    tags: dict[str, Tag] = dict(c.tags)
    how: dict[str, str] = {}
    for d, tag in tagged.items():
        if d in c.requested and tag is not None and c.fidelity.get(d) in ("missing", "ambiguous"):
            tags[d], how[d] = tag, "tagger"
    refused: set[str] = set()
    for d in dict.fromkeys(s.attribute for s, _ in said if s.attribute in c.requested):
        right = [s.value for s, opinion in said if s.attribute == d and opinion == "yes"]
        wrong = {s.value for s, opinion in said if s.attribute == d and opinion == "no"}
        known = _several(tags.get(d))
        if right:
            tags[d], how[d] = right[0] if len(right) == 1 else tuple(right), "people"
        elif wrong & set(known):
            left = tuple(v for v in known if v not in wrong)
            tags[d], how[d] = left[0] if len(left) == 1 else left or None, "people"
        if c.requested.get(d) in wrong - set(right):  # whatever else it shows, such as the parent of what was asked for
            refused.add(d)
            how[d] = "people"
    if not how:
        return c
    graded: dict[str, Flag] = fidelity(odd, c.requested, tags)
    # What nobody spoke of keeps its flag: an image that was made has the tags that it was meant to have, unconfirmed.
    flags: dict[str, Flag] = {d: "mismatch" if d in refused else graded[d] if d in how else c.fidelity[d] for d in c.requested}
    settled = {**c.confirmed, **how}
    return replace(c, tags=tags, fidelity=flags, verdict=verdict_of(flags), matches=_matches(flags), confirmed=settled)


def _several(tag: Tag) -> tuple[str, ...]:
    return (tag,) if isinstance(tag, str) else tag or ()


def _matches(flags: Mapping[str, Flag]) -> int:
    return sum(1 for f in flags.values() if f == "match")


def _lot(seed: int, item: QueueItem) -> str:
    return sha256_json([seed, item.media, item.question, list(item.options), item.answer])

"""Tags media with a model: every call kept, so that a second run costs nothing and a stopped one goes on; nothing guessed."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from core.acquisition.media import Media, MediaList, content_of, identity
from core.acquisition.normalise import CATEGORY
from core.acquisition.prompts import tagging_texts
from core.acquisition.read_tags import tag_text
from core.acquisition.tagging import Example, Said, Tiers, offered, question_ask, read_answer, scene_ask, settled
from core.digest import sha256_json
from core.errors import InputError
from core.evaluation.images import data_url, read_image
from core.llm import Ask, Endpoint, Usage
from core.llm.calls import StoredCall, call_key, host_of
from core.llm.loop import wait_for
from core.llm.pace import Limits, cost_of
from core.llm.runner import Lane, Runner, StoppedError
from core.odd import Odd, Value
from core.operators.rank import versions
from core.storage import Store, TagRecord

Progress = Callable[[int, int], None]
State = Literal["done", "failed", "blocked", "stopped"]

AT_ONCE = 64
"""Media that are worked on at a time; how many calls are in flight is up to the runner."""
FORMATS = (".csv", ".jsonl")
_ORDER: tuple[State, ...] = ("stopped", "failed", "blocked", "done")


@dataclass(frozen=True)
class TaggedMedia:
    """What came of one image or clip.

    Attributes:
        media: The media.
        id: Content hash, "" if it could not be read.
        shas: Of each image.
        said: What the model said, per dimension that was asked.
        state: done; failed: no answer; blocked: refused by the server; stopped: not reached.
        why: Reason, "" if done.
    """

    media: Media
    id: str
    shas: tuple[str, ...]
    said: Mapping[str, Said]
    state: State
    why: str = ""

    @property
    def tags(self) -> dict[str, str | tuple[str, ...] | None]:
        """All that is known of it: what it came with, and what the model said."""
        return {**self.media.tags, **{d: s.tag for d, s in self.said.items()}}


@dataclass(frozen=True)
class TagResult:
    """What came of tagging.

    Attributes:
        source: What was tagged.
        items: One for each media, in order.
        by_dimension: How the answers were read, counted per dimension.
        states: Media by state.
        kept: Dimensions of media that had a tag already and were not asked, counted.
        calls: new, cached, repeated, retries.
        usage: Tokens of the new calls.
        cost: Of the new calls, None where the endpoint has no price.
        stopped: Why it ended early, "" if it did not.
        manifest: How it was made (JSON).
    """

    source: MediaList
    items: tuple[TaggedMedia, ...]
    by_dimension: Mapping[str, Mapping[str, int]]
    states: Mapping[str, int]
    kept: int
    calls: Mapping[str, int]
    usage: Usage
    cost: float | None
    stopped: str
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "media": len(self.items),
            "states": dict(self.states),
            "left_out": dict(self.source.left_out),
            "by_dimension": {d: dict(c) for d, c in self.by_dimension.items()},
            "kept": self.kept,
            "calls": dict(self.calls),
            "usage": vars(self.usage),
            "cost": self.cost,
            "stopped": self.stopped,
            "items": [_item(x) for x in self.items],
            "manifest": dict(self.manifest),
        }


@dataclass(frozen=True)
class _Work:
    """What does not change from one media to the next."""

    store: Store
    odd: Odd
    values: Mapping[str, tuple[Value, ...]]
    endpoint: Endpoint
    runner: Runner
    lane: Lane
    retag: bool
    least: float
    examples: tuple[Example, ...]


def tag(
    store: Store,
    source: MediaList,
    odd: Odd,
    endpoint: Endpoint,
    *,
    dims: Sequence[str] = (),
    tiers: Tiers = "base",
    retag: bool = False,
    least: float = 0.0,
    examples: Sequence[Example] = (),
    limits: Limits | None = None,
    progress: Progress | None = None,
    cancel: Callable[[], bool] | None = None,
) -> TagResult:
    """Tag media by forced choice (SliceNav, appendix D).

    Args:
        store: Keeps calls and tags.
        source: The media, as `read_media` gives them.
        odd: Its values are offered.
        endpoint: The model; it sees the images, and sorts the questions.
        dims: Dimensions to tag; all if none is named.
        tiers: Offer the values of the ODD, or those outside it too.
        retag: Also ask for what has a tag already; else that stays.
        least: Confidence, in [0, 1], below which an answer settles nothing; it is the model's own and not calibrated.
        examples: Questions that people sorted.
        limits: Pace and budget.
        progress: Told media done and media in all.
        cancel: Asked now and then; True stops, and what is there is returned.

    Raises:
        InputError: A dimension does not exist, or the confidence is out of range.
    """
    if not 0 <= least <= 1:
        raise InputError(f"A confidence lies between 0 and 1; got {least:g}.")
    unknown = [d for d in dims if d not in odd.by_name]
    if unknown:
        raise InputError(f"Unknown dimension {', '.join(unknown)}; allowed: {', '.join(odd.names)}.")
    values = offered(odd, dims or odd.names, tiers)
    limits = limits or Limits()
    with store.calls.journal() as journal:
        runner = Runner(journal, limits, cancel=cancel)
        work = _Work(store, odd, values, endpoint, runner, runner.lane(endpoint), retag, least, tuple(examples))
        items = wait_for(_all(work, source.media, progress))
    asked = {d: Counter(x.said[d].how for x in items if d in x.said) for d in values}
    tally, spent = runner.tally, runner.budget
    states = Counter(x.state for x in items)
    return TagResult(
        source=source,
        items=items,
        by_dimension={d: dict(sorted(c.items())) for d, c in asked.items()},
        states={s: states[s] for s in ("done", "failed", "blocked", "stopped")},
        kept=sum(1 for m in source.media for d in values if not retag and m.tags.get(d) is not None),
        calls={"new": spent.calls, "cached": tally.cached, "repeated": tally.repeated, "retries": tally.retries},
        usage=spent.usage,
        cost=cost_of(spent.usage, endpoint.price),
        stopped=str(runner.stopped) if runner.stopped is not None else "",
        manifest=_manifest(source, odd, endpoint, values, tiers, examples) | {"least_confidence": least},
    )


def tag_examples(source: MediaList, number: int) -> tuple[Example, ...]:
    """Questions that have a category already, as examples for sorting others: each category in turn, in the order of a digest.

    Args:
        source: The media.
        number: Of examples at most.
    """
    found: dict[str, dict[str, None]] = {}
    for m in sorted(source.media, key=lambda m: sha256_json([m.question])):
        value = m.tags.get(CATEGORY)
        if m.question and isinstance(value, str):
            found.setdefault(value, {})[m.question] = None
    turns = zip_longest(*(found[v] for v in sorted(found)))
    order = [Example(q, v) for turn in turns for v, q in zip(sorted(found), turn, strict=True) if q is not None]
    return tuple(order[:number])


def check_tag_file(path: Path) -> None:
    """Refuse the name of a file that `write_tags` cannot write.

    Raises:
        InputError: Its ending is no known format.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f'"{path.name}": a manifest of tags is written as {" or ".join(FORMATS)}.')


def write_tags(result: TagResult, path: Path) -> list[Path]:
    """Write the tags as a manifest that can be imported, CSV or JSON Lines, and how they were made beside it as NAME.manifest.json.

    Every row and column of the source comes back. A dimension that was asked has its new tag, several possible values with a
    bar between them; where the model gave none the cell is empty, and where it was not reached it is left as it was. Paths are
    written as seen from the folder of the file.

    Raises:
        InputError: The ending is another one, or the place cannot be written.
    """
    check_tag_file(path)
    columns, rows = tag_rows(result, path.parent)
    out = io.StringIO()
    if path.suffix.lower() == ".csv":
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    else:
        out.writelines(json.dumps({k: v for k, v in r.items() if v != ""}, ensure_ascii=False) + "\n" for r in rows)
    side = path.with_name(path.stem + ".manifest.json")
    try:
        path.write_bytes(out.getvalue().encode())
        data = {k: v for k, v in result.as_dict().items() if k != "items"}
        side.write_bytes((json.dumps(data, indent=2, ensure_ascii=False) + "\n").encode())
    except OSError as e:
        raise InputError(f'Cannot write "{path}": {e.strerror}.') from e
    return [path, side]


def tag_rows(result: TagResult, folder: Path) -> tuple[list[str], list[dict[str, str]]]:
    """Columns and rows of the manifest that `write_tags` writes into a folder."""
    plan, source = result.source.plan, result.source
    dims = {d: plan.dims.get(d, d) if plan is not None else d for d in result.by_dimension}
    places = {"path": "path", "sha256": "sha256"} | ({f: c for f, c in plan.fields.items()} if plan is not None else {})
    new = [places["path"], *dims.values(), places["sha256"], "tag_origin", "tag_confidence"]
    columns = list(dict.fromkeys([*source.columns, *new]))
    rows: dict[int, dict[str, str]] = {n: dict(row) for n, row in source.other.items()}
    for x in result.items:
        row = {**x.media.row, places["path"]: _named(x.media.places, folder)}
        row[places["sha256"]] = x.id or row.get(places["sha256"], "")
        row.update({dims[d]: "" if s.how == "unsure" else tag_text(s.tag) or "" for d, s in x.said.items()})
        row.update({c: tag_text(x.media.tags.get(d)) or row.get(c, "") for d, c in dims.items() if d not in x.said})
        if x.said:
            row["tag_origin"] = f"{result.manifest['model']['name']}: {', '.join(x.said)}"
            row["tag_confidence"] = ", ".join(f"{d} {s.confidence:g}" for d, s in x.said.items() if s.confidence is not None)
        rows[x.media.number] = row
    return columns, [{c: rows[n].get(c, "") for c in columns} for n in sorted(rows)]


async def _all(work: _Work, media: Sequence[Media], progress: Progress | None) -> tuple[TaggedMedia, ...]:
    room = asyncio.Semaphore(AT_ONCE)
    done = 0

    async def one(m: Media) -> TaggedMedia:
        nonlocal done
        async with room:
            found = await _one(work, m)
        done += 1
        if progress is not None:
            progress(done, len(media))
        return found

    try:
        return tuple(await asyncio.gather(*(one(m) for m in media)))
    finally:
        await work.runner.close()


async def _one(work: _Work, media: Media) -> TaggedMedia:
    values = {d: v for d, v in work.values.items() if work.retag or media.tags.get(d) is None}
    try:
        shas = await asyncio.to_thread(content_of, media)
    except InputError as e:
        return TaggedMedia(media, "", (), {}, "failed", str(e))
    scene = {d: v for d, v in values.items() if d != CATEGORY}
    said = settled(scene)
    ends: list[tuple[State, str]] = []
    for part, kind in ((scene, "scene"), ({d: v for d, v in values.items() if d == CATEGORY}, "question")):
        asked = {d: v for d, v in part.items() if len(v) > 1}
        if not asked or (kind == "question" and not media.question):
            continue
        state, why, found = await _ask(work, media, shas, kind, asked)
        said |= found
        ends.append((state, why))
    state, why = min(ends, key=lambda e: _ORDER.index(e[0]), default=("done", ""))
    ordered = {d: said[d] for d in work.values if d in said}
    return TaggedMedia(media, identity(shas), shas, ordered, state, why)


async def _ask(
    work: _Work, media: Media, shas: tuple[str, ...], kind: str, asked: Mapping[str, tuple[Value, ...]]
) -> tuple[State, str, dict[str, Said]]:
    """One call; what was read from its answer is kept beside it."""

    def make(images: Sequence[str]) -> Ask:
        if kind == "scene":
            ask = scene_ask(work.odd, asked, images)
        else:
            ask = question_ask(work.odd, asked, media.question, media.options, work.examples)
        if ask is None:
            raise RuntimeError("There is nothing to ask.")  # `asked` has a choice, there are images, and a question where it is sorted
        return ask

    async def complete() -> Ask:
        if kind == "question":
            return make(())
        return make(await asyncio.to_thread(lambda: [data_url(read_image(p), p) for p in media.paths]))

    plain = make([""] * len(shas))
    used = shas if kind == "scene" else ()
    content: dict[str, Any] = {"messages": list(plain.messages), "schema": plain.schema}
    decode = {"max_tokens": plain.max_tokens, "temperature": plain.temperature, "seed": plain.seed}
    prompt = tagging_texts().sha256
    key = call_key(work.endpoint, "tag", prompt, content, used, decode)
    try:
        call: StoredCall = await work.runner.ask(work.lane, key, complete)
    except StoppedError as e:
        return "stopped", str(e), {}
    except InputError as e:  # an image that cannot be unpacked
        return "failed", str(e), {}
    if call.status != "done":
        return ("blocked" if call.status == "blocked" else "failed"), call.error, {}
    said = read_answer(work.odd, asked, call.text)
    content = {"kind": kind, "paths": list(media.paths), "tags": {d: s.as_dict() for d, s in said.items()}}
    content |= {"question": media.question, "options": list(media.options)} if kind == "question" else {}
    # The record keeps what was said; how sure is sure enough is a matter of each use.
    record = TagRecord(key, identity(shas), work.odd.hash, work.endpoint.name, prompt, content)
    await asyncio.to_thread(work.store.media_tags.add, [record], work.odd)
    return "done", "", {d: s.at_least(work.least) for d, s in said.items()}


def _manifest(
    source: MediaList, odd: Odd, endpoint: Endpoint, values: Mapping[str, Sequence[Value]], tiers: str, examples: Sequence[Example]
) -> dict[str, Any]:
    texts = tagging_texts()
    return {
        "input": {"name": source.source, "sha256": source.sha256, "media": len(source.media)},
        "odd": {"name": odd.name, "version": odd.version, "source": odd.source, "sha256": odd.hash},
        "offered": {d: [v.name for v in vs] for d, vs in values.items()},
        "tiers": tiers,
        "model": {"name": endpoint.name, "model": endpoint.model, "host": host_of(endpoint)},
        "prompt": {"name": texts.name, "version": texts.version, "sha256": texts.sha256},
        "examples": [vars(e) for e in examples],
        "versions": versions(),
    }


def _item(x: TaggedMedia) -> dict[str, Any]:
    out = {"name": x.media.name, "paths": list(x.media.paths), "sha256": x.id, "state": x.state, "why": x.why}
    return {**out, "said": {d: s.as_dict() for d, s in x.said.items()}}


def _named(places: Sequence[str], folder: Path) -> str:
    """Paths as seen from a folder."""
    names = [Path(os.path.relpath(p, folder or ".")).as_posix() for p in places]
    return names[0] if len(names) == 1 else json.dumps(names, ensure_ascii=False)

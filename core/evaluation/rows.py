"""Results as rows of the store and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from core.digest import canonical_json, sha256_json
from core.errors import InputError
from core.evaluation.items import Item, Result
from core.storage.evaluation import ResultRow

_TUPLES = ("images", "options", "image_sha256")


def row_of(run_id: str, result: Result, *, version: int = 0, who: str = "", why: str = "") -> ResultRow:
    """The row of a result."""
    item = result.item
    return ResultRow(
        run_id=run_id,
        item_id=item.id,
        key=result.key,
        status=result.status,
        score=result.score,
        scored_by=result.scored_by,
        verdict=item.verdict,
        requested=item.requested,
        realised=item.realised,
        detail=result.as_dict(),
        who=who,
        why=why,
        version=version,
        sample=sample_of(item),
    )


def sample_of(item: Item) -> str:
    """Hash of what is asked about: images, question, options; "" while the content of an image is not known."""
    shas = list(item.image_sha256)
    if not shas or len(shas) < len(item.images) or not all(shas):
        return ""
    return sha256_json({"images": shas, "question": item.question, "options": list(item.options), "answer": item.answer})


def result_of(row: ResultRow) -> Result:
    """The result of a row."""
    return read_result(row.detail)


def same_result(row: ResultRow, result: Result) -> bool:
    """Whether a row says what a result says."""
    return canonical_json(dict(row.detail)) == canonical_json(result.as_dict())


def read_result(data: Mapping[str, Any]) -> Result:
    """A result from what `Result.as_dict` made.

    Raises:
        InputError: It is not that.
    """
    known = {f.name for f in fields(Result)} - {"item"}
    try:
        return Result(item=read_item(data["item"]), **{k: v for k, v in data.items() if k in known})
    except (KeyError, TypeError) as e:
        raise InputError(f"A stored result cannot be read: {e}.") from e


def read_item(data: Mapping[str, Any]) -> Item:
    """An item from what `Item.as_dict` made.

    Raises:
        InputError: It is not that.
    """
    known = {f.name for f in fields(Item)}
    try:
        given: dict[str, Any] = {k: tuple(v) if k in _TUPLES else v for k, v in data.items() if k in known}
        return Item(**given)
    except TypeError as e:
        raise InputError(f"An item cannot be read: {e}.") from e

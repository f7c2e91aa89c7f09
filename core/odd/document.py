"""The YAML form of an ODD: read with every problem named, written so that it reads back the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from core.errors import InputError, Problem
from core.odd.model import Dimension, Odd, Tier, Value
from core.settings import ASSETS

DRIVING = ASSETS / "odd" / "driving.yaml"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class ValueDoc(_Strict):
    """A value: its bare name, or a mapping with a name."""

    name: str = Field(min_length=1)
    tier: Tier = "base"
    parent: str = ""
    definition: str = ""
    synonyms: list[str] = []
    concept: str = ""

    @model_validator(mode="before")
    @classmethod
    def _bare_name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @field_validator("parent", mode="before")
    @classmethod
    def _null_parent(cls, data: Any) -> Any:
        return "" if data in (None, "null", "~") else data


class DimensionDoc(_Strict):
    """A dimension under its name."""

    label: str = ""
    values: list[ValueDoc] = Field(min_length=1)
    standards: dict[str, str] = {}
    extendable: bool = True


class RuleDoc(_Strict):
    """A combination that hardly occurs: a slice with one of the values of every dimension named."""

    reason: str = Field(min_length=1)
    all_of: dict[str, list[str]] = Field(min_length=1)


class ImplausibleDoc(_Strict):
    """Rules on combinations; they count only where a user turns them on."""

    enabled_by_default: bool = False
    rules: list[RuleDoc] = []


class OddDoc(_Strict):
    """The whole document; the last four fields are read by the controller and the plausibility rules."""

    name: str = "own"
    version: int = 1
    dimensions: dict[str, DimensionDoc] = Field(min_length=1)
    notes: list[str] = []
    unsupported_terms: dict[str, str] = {}
    proxies: list[dict[str, Any]] = []
    implausible: ImplausibleDoc | None = None


class _Loader(yaml.BaseLoader):
    """Reads every scalar as text (so that `no`, `NA` and `1` stay words) and refuses a key given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = Counter(self.construct_object(k, deep=True) for k, _ in node.value)
        twice = [str(k) for k, n in keys.items() if n > 1]
        if twice:
            raise InputError(f'Line {node.start_mark.line + 1}: the key "{twice[0]}" stands there {keys[twice[0]]} times; keep one.')
        return super().construct_mapping(node, deep)


def load_yaml(text: str, source: str = "own") -> Odd:
    """The ODD of a YAML text.

    Raises:
        InputError: The text is no YAML, or breaks a rule; every problem is listed.
    """
    try:
        data = yaml.load(text, Loader=_Loader)  # noqa: S506 (a BaseLoader: builds text, lists and mappings only)
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        line = f"Line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise InputError(f"The ODD is not valid YAML. {line}{getattr(e, 'problem', None) or e}.") from e
    if not isinstance(data, dict):
        raise InputError('The ODD must be a mapping with the key "dimensions"; see the download of the built-in one for an example.')
    odd = from_document(data, source)
    if problems := _rule_problems(odd):
        raise InputError(f"The rules on implausible combinations name {len(problems)} thing(s) that the ODD does not declare.", problems)
    return odd


def from_document(data: dict[str, Any], source: str = "own") -> Odd:
    """The ODD of a parsed document.

    Raises:
        InputError: It breaks a rule; every problem is listed.
    """
    try:
        doc = OddDoc.model_validate(data)
    except ValidationError as e:
        problems = [Problem(None, _path(err["loc"]), _short(err.get("input")), err["msg"]) for err in e.errors()]
        raise InputError(f"The ODD breaks {len(problems)} rule{'s' * (len(problems) > 1)}; nothing was changed.", problems) from e
    problems = [p for name, d in doc.dimensions.items() for p in _value_problems(name, d)]
    if problems:
        raise InputError(f"The ODD breaks {len(problems)} rule{'s' * (len(problems) > 1)}; nothing was changed.", problems)
    dims = tuple(
        Dimension(
            name=name,
            label=d.label or name.replace("_", " ").strip() or name,
            values=tuple(Value(v.name, v.tier, v.parent, v.definition, tuple(v.synonyms), v.concept) for v in d.values),
            standards=d.standards,
            extendable=d.extendable,
        )
        for name, d in doc.dimensions.items()
    )
    # As they were written, so that the hash of the ODD is that of its text.
    extras = {k: data[k] for k in ("notes", "unsupported_terms", "proxies", "implausible") if data.get(k)}
    odd = Odd(name=doc.name, version=doc.version, dimensions=dims, extras=extras, source=source)
    odd.codec  # noqa: B018 (numbers the slices now, so that a vocabulary beyond 2^63 is refused here)
    return odd


def _rule_problems(odd: Odd) -> list[Problem]:
    """Dimensions and values of the rules that the ODD does not declare: such a rule would never hit."""
    out = []
    for i, rule in enumerate(odd.extras.get("implausible", {}).get("rules", ())):
        for name, values in rule["all_of"].items():
            place = f"implausible.rules[{i}].all_of"
            if name not in odd.by_name:
                out.append(Problem(None, place, name, ", ".join(odd.names)))
                continue
            known = list(odd.by_name[name].by_name)
            if not values:
                out.append(Problem(None, f"{place}.{name}", "no value", ", ".join(known)))
            out += [Problem(None, f"{place}.{name}", v, ", ".join(known)) for v in values if v not in known]
    return out


def _value_problems(name: str, d: DimensionDoc) -> list[Problem]:
    at = f"dimensions.{name}"
    out = []
    if not name.strip():
        out.append(Problem(None, "dimensions", name, "a name that is not empty"))
    counts = Counter(v.name.casefold() for v in d.values)
    out += [Problem(None, f"{at}.values", n, f"each value once; it stands there {c} times") for n, c in counts.items() if c > 1]
    base = [v.name for v in d.values if v.tier == "base"]
    if not base:
        out.append(Problem(None, f"{at}.values", "no base value", "at least one value of tier base"))
    out += [
        Problem(None, f"{at}.values.{v.name}.parent", v.parent, f"a base value of the dimension ({', '.join(base)})")
        for v in d.values
        if v.parent and v.parent not in base
    ]
    return out


def _path(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in loc).lstrip(".") or "document"


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def to_document(odd: Odd) -> dict[str, Any]:
    """The ODD as plain data; `from_document` gives it back. Fields that hold nothing are left out."""
    dims: dict[str, Any] = {}
    for d in odd.dimensions:
        values = []
        for v in d.values:
            doc: dict[str, Any] = {"name": v.name, "tier": v.tier}
            doc |= {k: x for k in ("parent", "definition", "concept") if (x := getattr(v, k))}
            if v.synonyms:
                doc["synonyms"] = list(v.synonyms)
            values.append(doc)
        dims[d.name] = {"label": d.label, "standards": dict(d.standards), "extendable": d.extendable, "values": values}
    return {"name": odd.name, "version": odd.version, **dict(odd.extras), "dimensions": dims}


def to_yaml(odd: Odd) -> str:
    """The ODD as YAML text, dimensions and values in their order."""
    text: str = yaml.safe_dump(to_document(odd), sort_keys=False, allow_unicode=True, width=120)
    return text


@cache
def built_in(path: Path = DRIVING) -> Odd:
    """The built-in driving ODD: 3,840 base slices, 91,445,760 in all."""
    return load_yaml(path.read_text(encoding="utf-8"), source="built-in")

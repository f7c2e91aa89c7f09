"""Fingerprints of what a run was made by: the program's code by part, and the texts and vocabularies that planning rests on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import core
from core.digest import sha256_bytes, sha256_json
from core.settings import ASSETS

CODE = Path(core.__file__).parent
TEXTS = ("controller", "prompts")
"""Folders of the assets that planning and asking rest on."""


@cache
def origin() -> dict[str, dict[str, str]]:
    """SHA-256 of each part of the program and of each text, as they were when the process first asked."""
    parts: dict[str, dict[str, str]] = {}
    for file in sorted(CODE.rglob("*.py")):
        name = file.relative_to(CODE).as_posix()
        parts.setdefault(name.partition("/")[0] if "/" in name else "core", {})[name] = sha256_bytes(file.read_bytes())
    texts = {f"{d}/{f.name}": sha256_bytes(f.read_bytes()) for d in TEXTS for f in sorted((ASSETS / d).glob("*.yaml"))}
    return {"code": {name: sha256_json(files) for name, files in sorted(parts.items())}, "texts": texts}


def changes(then: Mapping[str, Any]) -> list[str]:
    """What is not as it was, in words."""
    out = []
    for kind, words in (("code", "the code of {}"), ("texts", "the text {}")):
        old, new = then.get(kind) or {}, origin()[kind]
        out += [words.format(name) for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    return out

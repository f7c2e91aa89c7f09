"""Values that may have been meant where words matched nothing, by the meaning of the words (the encoder of the text similarity).

Such matches are often wrong (docs/benchmarks.md), so they are shown and not applied, unless nothing else was understood of the
conditions, the likeness is high and the question asks for something we do.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from core.controller.interpret import Read
from core.controller.reading import Reading, Suggestion
from core.errors import OddysseyError
from core.odd import Odd
from core.settings import Settings

if TYPE_CHECKING:
    from core.similarity.cache import Vectors
    from core.similarity.encoder import Encoder

SHOWN = 0.55
"""Least cosine of a suggestion."""
APPLIED = 0.80
"""Least cosine of a value that is applied where words matched nothing."""
_LONGEST = 3
_MOST_PHRASES = 60
_MOST_SHOWN = 4
_KEPT = 4


@dataclass(frozen=True)
class _Phrases:
    """Phrases of an ODD with their vectors, row by row."""

    names: tuple[tuple[str, str], ...]
    vectors: Vectors


_MATRICES: OrderedDict[tuple[str, str], _Phrases] = OrderedDict()


def suggest(read: Read, settings: Settings) -> Read:
    """Adds what may have been meant by the words that nothing was made of.

    Args:
        read: What was read; it is changed.
        settings: Where the encoder and its cache lie.

    Returns:
        The same; unchanged where the encoder is not installed or nothing is left over.
    """
    from core.similarity.encoder import Encoder, installed

    if not read.rest or not installed():
        return read
    try:
        found = _nearest(read, Encoder.from_settings(settings))
    except OddysseyError as e:
        read.notes.append(f"No values are suggested by meaning: {str(e).splitlines()[0]}")
        return read
    known = {(s.phrase, s.dimension, s.value) for s in read.suggestions}
    wanted = {(d, v) for d, vs in read.focus.items() for v in vs}
    found = [s for s in found if (s.phrase, s.dimension, s.value) not in known and (s.dimension, s.value) not in wanted]
    best = found[0] if found else None
    if best is not None and best.similarity >= APPLIED and _may_apply(read):
        read.add(best.dimension, [best.value])
        note = f"no phrase of the vocabulary; nearest by meaning, cosine {best.similarity:.2f}"
        read.readings = (*read.readings, Reading(best.phrase, "meaning", best.dimension, best.value, note))
        read.notes.append(f'"{best.phrase}" was read as {best.dimension}={best.value} by its meaning.')
        read.rest, read.unused = _without(read, read.rest, best.phrase), _without(read, read.unused, best.phrase)
        read.understood = not read.cues.injection
        found = found[1:]
    read.suggestions = (*read.suggestions, *found[:_MOST_SHOWN])
    return read


def warm(odd: Odd, settings: Settings) -> bool:
    """Loads the encoder and the phrases of an ODD, so that the next question need not wait for them; for a thread of its own.

    The first time ever this takes some ten seconds; afterwards the vectors are on disk and loading the encoder remains.

    Returns:
        Whether suggestions can be made here.
    """
    from core.similarity.encoder import Encoder, installed

    if not installed():
        return False
    try:
        encoder = Encoder.from_settings(settings)
        _matrix(odd, encoder)
        encoder.model.embed(["warm"])
    except OddysseyError:
        return False
    return True


def _without(read: Read, ranges: Sequence[tuple[int, int]], phrase: str) -> list[tuple[int, int]]:
    """The words that nothing was made of, without a phrase that was read after all, wherever it stands."""
    out: list[tuple[int, int]] = []
    for start, end in ranges:
        i = at = start
        while i < end:
            stop = next((j for j in range(i + 1, end + 1) if read.quote(i, j).casefold() == phrase.casefold()), 0)
            if stop and at < i:
                out.append((at, i))
            i, at = (stop, stop) if stop else (i + 1, at)
        if at < end:
            out.append((at, end))
    return out


def _may_apply(read: Read) -> bool:
    return bool(read.cues.spans) and not (read.focus or read.left_out or read.unsupported)


def _nearest(read: Read, encoder: Encoder) -> list[Suggestion]:
    """For each left-over phrase the nearest value, best first; of phrases that overlap only the best stays."""
    spans = [(i, j) for start, end in read.rest for i in range(start, end) for j in range(i + 1, min(i + _LONGEST, end) + 1)][
        :_MOST_PHRASES
    ]
    known = _matrix(read.odd, encoder)
    vectors = encoder.encode([read.quote(i, j).casefold() for i, j in spans])
    cosines = vectors @ known.vectors.T
    rows = [(float(row.max()), span, int(row.argmax())) for row, span in zip(cosines, spans, strict=True)]
    ranked = sorted(rows, key=lambda r: (-r[0], r[1]))
    out: list[Suggestion] = []
    taken: set[int] = set()
    for cosine, (i, j), at in ranked:
        if cosine < SHOWN or taken & set(range(i, j)):
            continue
        taken |= set(range(i, j))
        out.append(Suggestion(read.quote(i, j), *known.names[at], round(cosine, 3)))
    return out


def _matrix(odd: Odd, encoder: Encoder) -> _Phrases:
    """The phrases of an ODD with their vectors; the last few are kept."""
    at = (odd.hash, encoder.model_id)
    if at not in _MATRICES:
        values = [(d.name, v) for d in odd.dimensions for v in d.values]
        pairs = [((d, v.name), p.replace("_", " ")) for d, v in values for p in (v.name, *v.synonyms) if p.strip()]
        _MATRICES[at] = _Phrases(tuple(n for n, _ in pairs), encoder.encode([p.casefold() for _, p in pairs]))
        while len(_MATRICES) > _KEPT:
            _MATRICES.popitem(last=False)
    return _MATRICES[at]

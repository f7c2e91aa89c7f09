"""The phrases of an ODD, ready to be looked for: names, synonyms, everyday phrases, and words for a whole dimension."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from core.controller.language import language
from core.controller.words import key, stem, verb_stem
from core.odd import Odd, built_in

Key = tuple[str, ...]
Match = Literal["exact", "synonym"]
NEGATIVE = frozenset("no none false 0 off absent without n nil f".split())
"""Names of values that say that something is not there."""
_KEPT = 8


@dataclass(frozen=True)
class Entry:
    """A value that a phrase stands for.

    Attributes:
        dimension, value: The value.
        how: By its name, or by another phrase.
    """

    dimension: str
    value: str
    how: Match


class Vocabulary:
    """The phrases of an ODD, ready to be looked for.

    Attributes:
        odd: Declares the values.
        exact: What each phrase stands for.
        stems, verbs: The same by stems of nouns and adjectives, and of verbs.
        longest: Words of the longest phrase.
        mentions: Dimension that a phrase, by its stems, means as a whole.
        words: Every word of a phrase or of the name of a dimension.
        parts: For a word that is part of names in one dimension only: the dimension and the values with it.
    """

    def __init__(self, odd: Odd) -> None:
        self.odd = odd
        self.exact: dict[Key, list[Entry]] = {}
        for d in odd.dimensions:
            for v in d.values:
                self._add(key(v.name), Entry(d.name, v.name, "exact"))
        for d in odd.dimensions:
            for v in d.values:
                for phrase in v.synonyms:
                    self._add(key(phrase), Entry(d.name, v.name, "synonym"))
        for phrase_key, entries in self._borrowed().items():
            if phrase_key not in self.exact:
                self.exact[phrase_key] = entries
        for k in [k for k in self.exact if len(k) > 1]:
            joined = ("".join(k),)
            if all(w.isalpha() for w in k) and len(joined[0]) > 5:
                self.exact.setdefault(joined, self.exact[k])
        self.stems = self._index(stem)
        self.verbs = {k: e for k, e in self._index(verb_stem).items() if len(k) > 1 or k[0] in _condition_verbs()}
        self.longest = max((len(k) for k in self.exact), default=1)
        self.mentions = self._mention_words()
        self.parts = self._part_words()
        self.words = frozenset(w for k in self.exact for w in k) | {w for d in odd.dimensions for w in (*key(d.name), *key(d.label))}

    def _add(self, k: Key, entry: Entry) -> None:
        if not k:
            return
        there = self.exact.setdefault(k, [])
        named = any(e.dimension == entry.dimension and e.how == "exact" for e in there)
        if not any(e.dimension == entry.dimension and e.value == entry.value for e in there) and not (named and entry.how == "synonym"):
            there.append(entry)

    def _index(self, by: Callable[[str], str]) -> dict[Key, list[Entry]]:
        out: dict[Key, list[Entry]] = {}
        for k, entries in self.exact.items():
            stems = tuple(by(w) for w in k)
            there = out.setdefault(stems, [])
            # A name and a synonym that fall together by their stems ("snowy", "snow") are kept apart: the name wins.
            there += [e for e in entries if not any(e.dimension == o.dimension and e.value == o.value for o in there)]
        return out

    def _borrowed(self) -> dict[Key, list[Entry]]:
        """Phrases that the product knows for values of these names, of the built-in ODD and of everyday English."""
        out: dict[Key, list[Entry]] = {}
        more = language().phrases
        known = built_in()
        names = {d.name: {v.name: (v.name, *v.synonyms) for v in d.values} for d in known.dimensions}
        for d in self.odd.dimensions:
            for v in d.values:
                for home, name in _home(d.name, v.name, names):
                    declared = names[home][name] if not v.synonyms else ()
                    for phrase in (*declared, *more.get(home, {}).get(name, ())):
                        entry = Entry(d.name, v.name, "synonym")
                        there = out.setdefault(key(phrase), [])
                        if entry not in there:
                            there.append(entry)
        # A phrase that would stand for things in two dimensions is clear only in the ODD that it was written for.
        return {k: es for k, es in out.items() if k and len({e.dimension for e in es}) == 1}

    def _mention_words(self) -> dict[Key, str]:
        """Words that mean a dimension: its name, its label, and words of the name that no other dimension has."""
        out: dict[Key, str] = {}
        words: dict[str, set[str]] = {}
        for d in self.odd.dimensions:
            for text in (d.name, d.label):
                if k := key(text):
                    out.setdefault(k, d.name)
            if not any(key(w) in self.exact for w in language().dimension_words.get(d.name.casefold(), ())):
                out |= {key(w): d.name for w in language().dimension_words.get(d.name.casefold(), ()) if key(w) not in out}
            for w in key(d.name):
                words.setdefault(stem(w), set()).add(d.name)
        skip = {stem(w) for w in "type types condition conditions present category class level num number id mode kind value of".split()}
        for w, dims in words.items():
            if len(dims) == 1 and len(w) > 2 and w not in skip and w not in language().stop:
                out.setdefault((w,), next(iter(dims)))
        return {tuple(stem(w) for w in k): d for k, d in out.items()}

    def _part_words(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """Words of the names of values in dimensions without synonyms, each with all values that hold it, if of one dimension only."""
        generic = {stem(w) for w in language().generic} | language().stop_stems
        found: dict[str, dict[str, list[str]]] = {}
        for d in self.odd.dimensions:
            if any(v.synonyms for v in d.values):
                continue
            for v in d.values:
                k = key(v.name)
                for w in {stem(w) for w in k if len(k) > 1 and len(w) > 2 and w.isalpha()} - generic:
                    found.setdefault(w, {}).setdefault(d.name, []).append(v.name)
        return {w: next((d, tuple(vs)) for d, vs in dims.items()) for w, dims in found.items() if len(dims) == 1}

    def single_words(self) -> list[str]:
        """Phrases of one word of five letters or more."""
        return [k[0] for k in self.exact if len(k) == 1 and len(k[0]) > 4 and k[0].isalpha()]


def _home(dimension: str, value: str, names: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterable[tuple[str, str]]:
    """The values of the built-in ODD that are meant by a name: the same ones, or those that a name or synonym of theirs gives."""
    if value in names.get(dimension, {}):
        return [(dimension, value)]
    wanted = tuple(stem(w) for w in key(value))
    found = [(d, v, p) for d, values in names.items() for v, phrases in values.items() for p in phrases if _stems_of(p) == wanted]
    if len({d for d, _, _ in found}) > 1:
        mine = {stem(w) for w in key(dimension)}
        same = [f for f in found if {stem(w) for w in key(f[0])} & mine]
        named = [f for f in found if f[1] == f[2]]
        found = same or named
    if len({d for d, _, _ in found}) > 1:
        return []
    return dict.fromkeys((d, v) for d, v, _ in found)


@cache
def _stems_of(phrase: str) -> Key:
    return tuple(stem(w) for w in key(phrase))


@cache
def _condition_verbs() -> frozenset[str]:
    return frozenset(verb_stem(w) for w in language().condition_verbs) | frozenset(stem(w) for w in language().condition_verbs)


@cache
def _condition_stems() -> frozenset[Key]:
    """What may be there or not: phrases of the built-in ODD."""
    phrases = {
        _stems_of(p) for d in built_in().dimensions for v in d.values for p in (v.name, *v.synonyms) if d.name != "question_category"
    }
    return frozenset(phrases)


def is_condition(words: Sequence[str], dimension: str) -> bool:
    """Whether words for a dimension name something that may be there or not, such as fog or rain."""
    said = tuple(stem(w) for w in words)
    more = language().dimension_words.get(dimension)
    return said in _condition_stems() or (more is not None and said in {_stems_of(w) for w in (dimension, *more)})


_VOCABULARIES: OrderedDict[str, Vocabulary] = OrderedDict()


def vocabulary(odd: Odd) -> Vocabulary:
    """The vocabulary of an ODD; the last few are kept."""
    known = _VOCABULARIES.get(odd.hash)
    if known is None:
        known = _VOCABULARIES[odd.hash] = Vocabulary(odd)
        while len(_VOCABULARIES) > _KEPT:
            _VOCABULARIES.popitem(last=False)
    return known

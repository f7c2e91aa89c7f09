"""Finds the values of an ODD in a question: names, synonyms, everyday phrases, and words for a whole dimension."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from core.controller.language import idioms, language
from core.controller.words import BREAKS, Token, key, stem, verb_stem
from core.odd import Odd, built_in

Key = tuple[str, ...]
Match = Literal["exact", "synonym"]
NEGATIVE = frozenset("no none false 0 off absent without n nil f".split())
"""Names of values that say that something is not there."""
_CLEAR = NEGATIVE | {"clear", "dry"}
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


@dataclass(frozen=True)
class Hit:
    """Words of a question that name values.

    Attributes:
        start, end: Tokens.
        entries: What they stand for, all in one dimension.
        others: What they could stand for in other dimensions.
        note: What to know about it.
    """

    start: int
    end: int
    entries: tuple[Entry, ...]
    others: tuple[Entry, ...] = ()
    note: str = ""

    @property
    def dimension(self) -> str:
        """The dimension of all entries."""
        return self.entries[0].dimension


class Vocabulary:
    """The phrases of an ODD, ready to be looked for.

    Attributes:
        odd: Declares the values.
    """

    def __init__(self, odd: Odd) -> None:
        self.odd = odd
        self._exact: dict[Key, list[Entry]] = {}
        for d in odd.dimensions:
            for v in d.values:
                self._add(key(v.name), Entry(d.name, v.name, "exact"))
        for d in odd.dimensions:
            for v in d.values:
                for phrase in v.synonyms:
                    self._add(key(phrase), Entry(d.name, v.name, "synonym"))
        for phrase_key, entries in self._borrowed().items():
            if phrase_key not in self._exact:
                self._exact[phrase_key] = entries
        for k in [k for k in self._exact if len(k) > 1]:
            joined = ("".join(k),)
            if all(w.isalpha() for w in k) and len(joined[0]) > 5:
                self._exact.setdefault(joined, self._exact[k])
        self._stems = self._index(stem)
        self._verbs = {k: e for k, e in self._index(verb_stem).items() if len(k) > 1 or k[0] in _condition_verbs()}
        self._longest = max((len(k) for k in self._exact), default=1)
        self._mentions = self._mention_words()
        self._parts = self._part_words()

    def _add(self, k: Key, entry: Entry) -> None:
        if not k:
            return
        there = self._exact.setdefault(k, [])
        named = any(e.dimension == entry.dimension and e.how == "exact" for e in there)
        if not any(e.dimension == entry.dimension and e.value == entry.value for e in there) and not (named and entry.how == "synonym"):
            there.append(entry)

    def _index(self, by: object) -> dict[Key, list[Entry]]:
        out: dict[Key, list[Entry]] = {}
        for k, entries in self._exact.items():
            stems = tuple(by(w) for w in k)  # type: ignore[operator]
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
            if not any(key(w) in self._exact for w in language().dimension_words.get(d.name.casefold(), ())):
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
        return [k[0] for k in self._exact if len(k) == 1 and len(k[0]) > 4 and k[0].isalpha()]

    def entries(self, word: str) -> list[Entry]:
        """What a phrase of one word stands for."""
        return list(self._exact.get((word,), ()))

    def hits(self, toks: Sequence[Token]) -> list[Hit]:
        """What a question names, in order; longer phrases first, a name before other phrases, no word twice."""
        used = self._masked(toks)
        mentions = self.mentions(toks)
        out = self._declared(toks, used, mentions)
        for size in range(min(self._longest, len(toks)), 0, -1):
            for index, by in ((self._exact, str), (self._stems, stem), (self._verbs, verb_stem)):
                for i in range(len(toks) - size + 1):
                    out += self._try(toks, used, mentions, i, size, index, by)
            if size == 2:  # "night time" for "nighttime"
                for i in range(len(toks) - 1):
                    a, b = toks[i], toks[i + 1]
                    joined = (a.text + b.text,)
                    if a.word and b.word and min(len(a.text), len(b.text)) > 1 and joined in self._exact and not (used[i] or used[i + 1]):
                        out += self._take(toks, used, mentions, i, 2, self._exact[joined])
        out += self._anchored(toks, used, mentions)
        out += self._partial(toks, used)
        return sorted(out, key=lambda h: h.start)

    def _try(
        self, toks: Sequence[Token], used: list[bool], mentions: Mapping[int, tuple[int, str]], i: int, size: int, index: object, by: object
    ) -> list[Hit]:
        if any(used[i : i + size]) or any(at <= i < end and end - at > size for at, (end, _) in mentions.items()):
            return []
        words = [t.text for t in toks[i : i + size]]
        found = index.get(tuple(by(w) for w in words))  # type: ignore[attr-defined, operator]
        if not found or _weak(words) or (len(words) == 1 and self.odd.source != "built-in" and words[0] in language().degrees):
            return []
        return self._take(toks, used, mentions, i, size, found)

    def _take(
        self, toks: Sequence[Token], used: list[bool], mentions: Mapping[int, tuple[int, str]], i: int, size: int, found: Sequence[Entry]
    ) -> list[Hit]:
        used[i : i + size] = [True] * size
        dims = list(dict.fromkeys(e.dimension for e in found))
        if len(dims) > 1:
            near = [(min(abs(i - at), abs(end - i)), d) for at, (end, d) in mentions.items() if d in dims and not i <= at < i + size]
            named = [e.dimension for e in found if e.how == "exact"]
            chosen = min(near)[1] if near and min(near)[0] <= 3 else named[0] if named else dims[0]
            mine = tuple(e for e in found if e.dimension == chosen)
            return [Hit(i, i + size, mine, tuple(e for e in found if e.dimension != chosen))]
        return [Hit(i, i + size, tuple(found))]

    def _masked(self, toks: Sequence[Token]) -> list[bool]:
        """Words inside turns of phrase that mean something else; a phrase of the ODD's own is none."""
        used = [False] * len(toks)
        texts = [t.text for t in toks]
        for start, end in idioms(toks):
            own = self.odd.source != "built-in" and tuple(texts[start:end]) in self._exact
            sizes = range(end - start + 1, self._longest + 1)
            around = [(i, i + n) for n in sizes for i in range(max(0, start - n + 1), min(end, len(toks) - n + 1))]
            longer = any(tuple(texts[i:j]) in self._exact for i, j in around)
            if not own and not longer:
                used[start:end] = [True] * (end - start)
        return used

    def mentions(self, toks: Sequence[Token]) -> dict[int, tuple[int, str]]:
        """Where dimensions are named: first token to end and dimension."""
        out: dict[int, tuple[int, str]] = {}
        longest = max((len(k) for k in self._mentions), default=0)
        stems = [stem(t.text) for t in toks]
        i = 0
        while i < len(toks):
            size = next((n for n in range(min(longest, len(toks) - i), 0, -1) if tuple(stems[i : i + n]) in self._mentions), 0)
            if size:
                out[i] = (i + size, self._mentions[tuple(stems[i : i + size])])
            i += size or 1
        return out

    def _in_dimension(self, toks: Sequence[Token], used: Sequence[bool], i: int, dimension: str) -> tuple[int, tuple[Entry, ...]]:
        """The longest phrase at a token that names values of a dimension, and its end."""
        for size in range(min(self._longest, len(toks) - i), 0, -1):
            words = [t.text for t in toks[i : i + size]]
            for index, by in ((self._exact, str), (self._stems, stem)):
                found = tuple(e for e in index.get(tuple(by(w) for w in words), ()) if e.dimension == dimension)
                if found and not any(used[i : i + size]):
                    return i + size, found
        return i, ()

    def _declared(self, toks: Sequence[Token], used: list[bool], mentions: Mapping[int, tuple[int, str]]) -> list[Hit]:
        """Values written as `dimension = value, value`."""
        out = []
        for at, (end, dimension) in mentions.items():
            if end >= len(toks) or toks[end].text not in ("=", ":"):
                continue
            i = end + 1
            while i < len(toks) and toks[i].text in ("=", '"', "'", "[", "("):
                i += 1
            while i < len(toks):
                stop, found = self._in_dimension(toks, used, i, dimension)
                if not found:
                    break
                out.append(Hit(i, stop, found))
                used[i:stop] = [True] * (stop - i)
                used[at:end] = [True] * (end - at)
                i = stop
                while i < len(toks) and toks[i].text in (",", "/", "|", "or", "and", '"', "'"):
                    i += 1
        return out

    def _anchored(self, toks: Sequence[Token], used: list[bool], mentions: Mapping[int, tuple[int, str]]) -> list[Hit]:
        """Values such as numbers and single letters, which count only beside the name of their dimension; and presence by that name."""
        out = []
        for at, (end, dimension) in mentions.items():
            if any(used[at:end]):
                continue
            after = end
            while after < len(toks) and toks[after].text in ("is", "are", "of", "equals", "being", '"', "'"):
                after += 1
            stop, found = self._in_dimension(toks, used, after, dimension) if after < len(toks) else (after, ())
            start = after
            if not found:
                for size in range(min(self._longest, at), 0, -1):
                    stop, found = self._in_dimension(toks, used, at - size, dimension)
                    if found and stop == at:
                        start = at - size
                        break
                    found = ()
            if found:
                used[start:stop] = [True] * (stop - start)
                out.append(Hit(start, stop, found))
            elif present := self._presence(dimension, toks[at:end]):
                used[at:end] = [True] * (end - at)
                out.append(Hit(at, end, present, note=f"all values of {dimension} but those that say it is not there"))
        return out

    def _presence(self, dimension: str, words: Sequence[Token]) -> tuple[Entry, ...]:
        """The values that say that what a dimension is called is there, for a dimension such as fog: none, light, dense."""
        d = self.odd.by_name[dimension]
        names = {v.name: " ".join(key(v.name)) for v in d.values}
        two = {*names.values()} <= NEGATIVE | {"yes", "true", "1", "on", "y", "t", "present"} and len(names) == 2
        called = (d.name, *language().dimension_words[d.name]) if d.name in language().dimension_words else ()
        condition = tuple(stem(t.text) for t in words) in _condition_stems() | {_stems_of(w) for w in called}
        negative = {n for n, k in names.items() if k in (_CLEAR if condition else NEGATIVE)}
        if not negative or len(negative) == len(names) or not (two or condition):
            return ()
        return tuple(Entry(dimension, v.name, "synonym") for v in d.base if v.name not in negative)

    def _partial(self, toks: Sequence[Token], used: list[bool]) -> list[Hit]:
        """Words that are part of names: "rain" for "light rain" and "heavy rain"; several words in one dimension narrow it down."""
        found = [(i, *self._parts[s]) for i, t in enumerate(toks) if not used[i] and t.word and (s := stem(t.text)) in self._parts]
        out = []
        for dimension in dict.fromkeys(d for _, d, _ in found):
            mine = [(i, set(vs)) for i, d, vs in found if d == dimension]
            common = set.intersection(*(vs for _, vs in mine))
            for i, vs in mine:
                names = [v.name for v in self.odd.by_name[dimension].values if v.name in (common or vs)]
                used[i] = True
                out.append(Hit(i, i + 1, tuple(Entry(dimension, n, "synonym") for n in names), note="part of the name"))
        return out


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


def _weak(words: Sequence[str]) -> bool:
    """Whether words say nothing without the name of their dimension: letters, numbers, signs, words like "no" and "other"."""
    if len(words) > 1 and any(w.isalpha() for w in words) and any(not w.isalnum() and w not in BREAKS | {","} for w in words):
        return False  # C++, N/A
    return all((len(w) == 1 and w.isascii()) or w in language().stop or not any(c.isalpha() for c in w) or w in NEGATIVE for w in words)


_VOCABULARIES: OrderedDict[str, Vocabulary] = OrderedDict()


def vocabulary(odd: Odd) -> Vocabulary:
    """The vocabulary of an ODD; the last few are kept."""
    known = _VOCABULARIES.get(odd.hash)
    if known is None:
        known = _VOCABULARIES[odd.hash] = Vocabulary(odd)
        while len(_VOCABULARIES) > _KEPT:
            _VOCABULARIES.popitem(last=False)
    return known

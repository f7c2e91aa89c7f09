"""Finds in a question the values that it names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from core.controller.language import idioms, language, things
from core.controller.vocabulary import NEGATIVE, Entry, Key, Vocabulary, is_condition
from core.controller.words import BREAKS, Token, key, stem, verb_stem

_CLEAR = NEGATIVE | {"clear", "dry"}
_NEAR = 3
"""Words at most between a value that several dimensions have and the name of one of them, for that one to be meant."""
_LINKS = ("is", "are", "of", "equals", "being", '"', "'")
_LIST_LINKS = frozenset(("and", "or", "nor", "&", "/", ","))
_LIST = (",", "/", "|", "or", "and", '"', "'")


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


def find_values(vocab: Vocabulary, toks: Sequence[Token]) -> list[Hit]:
    """What a question names, in order; longer phrases first, a name before other phrases, no word twice."""
    return _agree(toks, sorted(_Search(vocab, toks).run(), key=lambda h: h.start))


def listed(toks: Sequence[Token], a: Hit, b: Hit) -> bool:
    """Whether two values stand in a list, with "and", "or" or a comma between them, and not side by side as in "foggy tunnels"."""
    said = language().negation
    between = [t.text for t in toks[a.end : b.start]]
    links = sum(w in _LIST_LINKS for w in between)
    return links > 0 and all(w in _LIST_LINKS or w in said.between or w in said.nouns for w in between)


def _opposed(toks: Sequence[Token], a: Hit, b: Hit) -> bool:
    """Whether one value stands against another: "rain rather than snow"."""
    between = {t.text for t in toks[a.end : b.start]}
    return bool(between & {"not", "than", "instead", "without"}) and between <= set("rather than not instead of but , without".split())


def _agree(toks: Sequence[Token], hits: list[Hit]) -> list[Hit]:
    """Takes words of several dimensions in that of their neighbours in a list: in "rain or snow" the snow is weather."""
    out = list(hits)
    for i, h in enumerate(hits):
        pairs = [(j, out[min(i, j)], out[max(i, j)]) for j in (i - 1, i + 1) if 0 <= j < len(hits)]
        near = [out[j].dimension for j, a, b in pairs if listed(toks, a, b) or _opposed(toks, a, b)]
        theirs = next((d for d in near if any(e.dimension == d for e in h.others)), "")
        if theirs and h.dimension not in near:
            entries = tuple(e for e in h.others if e.dimension == theirs)
            out[i] = replace(h, entries=entries, others=(*h.entries, *(e for e in h.others if e.dimension != theirs)))
    return out


def find_dimensions(vocab: Vocabulary, toks: Sequence[Token]) -> dict[int, tuple[int, str]]:
    """Where a question names whole dimensions: first token to end and dimension."""
    out: dict[int, tuple[int, str]] = {}
    longest = max((len(k) for k in vocab.mentions), default=0)
    stems = [stem(t.text) for t in toks]
    i = 0
    while i < len(toks):
        size = next((n for n in range(min(longest, len(toks) - i), 0, -1) if tuple(stems[i : i + n]) in vocab.mentions), 0)
        if size:
            out[i] = (i + size, vocab.mentions[tuple(stems[i : i + size])])
        i += size or 1
    return out


class _Search:
    """One pass over a question; `used` are the words that are spoken for."""

    def __init__(self, vocab: Vocabulary, toks: Sequence[Token]) -> None:
        self.vocab, self.toks = vocab, toks
        self.texts = [t.text for t in toks]
        self.used = [False] * len(toks)
        self.dimensions = find_dimensions(vocab, toks)
        self.found: list[Hit] = []

    def run(self) -> list[Hit]:
        vocab, n = self.vocab, len(self.toks)
        self._mask_idioms()
        self._declared()
        for size in range(min(vocab.longest, n), 0, -1):
            for i in range(n - size + 1):
                self._try(i, size, vocab.exact, str)
            for i in range(n - size + 1):
                self._try(i, size, vocab.stems, stem)
            for i in range(n - size + 1):
                self._try(i, size, vocab.verbs, verb_stem)
            if size == 2:
                self._joined()
        self._anchored()
        self._partial()
        return self.found

    def _use(self, start: int, end: int) -> None:
        self.used[start:end] = [True] * (end - start)

    def _mask_idioms(self) -> None:
        """Passes over turns of phrase that mean something else, but for a phrase of the ODD's own and within longer phrases."""
        known = self.vocab.exact
        for start, end in (*idioms(self.toks), *things(self.toks)):
            own = self.vocab.odd.source != "built-in" and tuple(self.texts[start:end]) in known
            sizes = range(end - start + 1, self.vocab.longest + 1)
            around = [(i, i + n) for n in sizes for i in range(max(0, start - n + 1), min(end, len(self.toks) - n + 1))]
            if not own and not any(tuple(self.texts[i:j]) in known for i, j in around):
                self._use(start, end)

    def _declared(self) -> None:
        """Values written as `dimension = value, value`."""
        for at, (end, dimension) in self.dimensions.items():
            if self._text(end) not in ("=", ":"):
                continue
            i = self._skip(end + 1, ("=", '"', "'", "[", "("))
            while (found := self._in_dimension(i, dimension))[1]:
                stop, entries = found
                self.found.append(Hit(i, stop, entries))
                self._use(i, stop)
                self._use(at, end)
                i = self._skip(stop, _LIST)

    def _try(self, i: int, size: int, index: Mapping[Key, list[Entry]], by: Callable[[str], str]) -> None:
        words = self.texts[i : i + size]
        entries = index.get(tuple(by(w) for w in words))
        if not entries or any(self.used[i : i + size]) or _weak(words):
            return
        degree = size == 1 and self.vocab.odd.source != "built-in" and words[0] in language().degrees
        part_of_name = any(at <= i < end and end - at > size for at, (end, _) in self.dimensions.items())  # "day" in "time of day"
        if not degree and not part_of_name:
            self._take(i, size, entries)

    def _joined(self) -> None:
        """Two words that are one phrase: "night time" for "nighttime"."""
        for i in range(len(self.toks) - 1):
            a, b = self.toks[i], self.toks[i + 1]
            entries = self.vocab.exact.get((a.text + b.text,))
            if entries and a.word and b.word and min(len(a.text), len(b.text)) > 1 and not any(self.used[i : i + 2]):
                self._take(i, 2, entries)

    def _take(self, i: int, size: int, entries: Sequence[Entry]) -> None:
        """Takes a phrase; of several dimensions the one that is named beside it or alone, else the first that has it as a name."""
        self._use(i, i + size)
        dims = list(dict.fromkeys(e.dimension for e in entries))
        away = [(at, end, d) for at, (end, d) in self.dimensions.items() if d in dims and not i <= at < i + size]
        near = min(((min(abs(i - at), abs(end - i)), d) for at, end, d in away), default=(_NEAR + 1, ""))
        named = [e.dimension for e in entries if e.how == "exact"]
        one = len({d for _, _, d in away}) == 1
        chosen = near[1] if near[0] <= _NEAR or one else (named or dims)[0]
        mine = tuple(e for e in entries if e.dimension == chosen)
        self.found.append(Hit(i, i + size, mine, tuple(e for e in entries if e.dimension != chosen)))

    def _in_dimension(self, i: int, dimension: str) -> tuple[int, tuple[Entry, ...]]:
        """The longest phrase at a token that names values of a dimension, and its end."""
        for size in range(min(self.vocab.longest, len(self.toks) - i), 0, -1):
            words = self.texts[i : i + size]
            known = self.vocab.exact.get(tuple(words)) or self.vocab.stems.get(tuple(stem(w) for w in words)) or []
            entries = tuple(e for e in known if e.dimension == dimension)
            if entries and not any(self.used[i : i + size]):
                return i + size, entries
        return i, ()

    def _anchored(self) -> None:
        """Values such as numbers and single letters, which count only beside the name of their dimension; and presence by that name."""
        for at, (end, dimension) in self.dimensions.items():
            if any(self.used[at:end]):
                continue
            start = self._skip(end, _LINKS)
            stop, entries = self._in_dimension(start, dimension)
            for size in range(min(self.vocab.longest, at), 0, -1):
                if entries:
                    break
                before = self._in_dimension(at - size, dimension)
                if before[0] == at:
                    start, (stop, entries) = at - size, before
            if entries:
                self._use(start, stop)
                self.found.append(Hit(start, stop, entries))
            elif present := self._presence(dimension, self.texts[at:end]):
                self._use(at, end)
                self.found.append(Hit(at, end, present, note=f"all values of {dimension} but those that say it is not there"))

    def _presence(self, dimension: str, words: Sequence[str]) -> tuple[Entry, ...]:
        """The values that say that what a dimension is called is there, for a dimension such as fog: none, light, dense."""
        d = self.vocab.odd.by_name[dimension]
        names = {v.name: " ".join(key(v.name)) for v in d.values}
        two = {*names.values()} <= NEGATIVE | {"yes", "true", "1", "on", "y", "t", "present"} and len(names) == 2
        condition = is_condition(words, d.name)
        negative = {n for n, k in names.items() if k in (_CLEAR if condition else NEGATIVE)}
        if not negative or len(negative) == len(names) or not (two or condition):
            return ()
        return tuple(Entry(dimension, v.name, "synonym") for v in d.base if v.name not in negative)

    def _partial(self) -> None:
        """Words that are part of names: "rain" for "light rain" and "heavy rain"; several words in one dimension narrow it down."""
        parts = self.vocab.parts
        found = [(i, *parts[s]) for i, t in enumerate(self.toks) if not self.used[i] and t.word and (s := stem(t.text)) in parts]
        for dimension in dict.fromkeys(d for _, d, _ in found):
            mine = [(i, set(vs)) for i, d, vs in found if d == dimension]
            common = set.intersection(*(vs for _, vs in mine))
            for i, vs in mine:
                names = [v.name for v in self.vocab.odd.by_name[dimension].values if v.name in (common or vs)]
                self._use(i, i + 1)
                self.found.append(Hit(i, i + 1, tuple(Entry(dimension, n, "synonym") for n in names), note="part of the name"))

    def _text(self, i: int) -> str:
        return self.texts[i] if i < len(self.texts) else ""

    def _skip(self, i: int, texts: Sequence[str]) -> int:
        while self._text(i) in texts:
            i += 1
        return i


def _weak(words: Sequence[str]) -> bool:
    """Whether words say nothing without the name of their dimension: letters, numbers, signs, words like "no" and "other"."""
    if len(words) > 1 and any(w.isalpha() for w in words) and any(not w.isalnum() and w not in BREAKS | {","} for w in words):
        return False  # C++, N/A
    return all((len(w) == 1 and w.isascii()) or w in language().stop or not any(c.isalpha() for c in w) or w in NEGATIVE for w in words)

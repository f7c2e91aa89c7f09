"""What a question says, word by word, before any rule makes a plan of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from core.controller.cues import ACTS, Cues, cues, mentions
from core.controller.language import language
from core.controller.leftover import loose, unused
from core.controller.matching import Hit, find_dimensions, find_values
from core.controller.numbers import amounts, counting
from core.controller.plan import Values
from core.controller.polarity import Polarity, polarities
from core.controller.reading import How, Reading, Suggestion
from core.controller.spelling import Slip, spelled
from core.controller.vocabulary import Vocabulary, vocabulary
from core.controller.words import Token, key, stem, tokens
from core.odd import Odd, built_in

_NOT_WANTED: dict[Polarity, str] = {
    "left_out": "left out",
    "any": "any value will do, so no filter",
    "combination": "not left out: a filter leaves out values, not combinations",
    "unsure": "no effect: it is not sure whether it is wanted or to be left out",
}
_TYPO = 0.82
"""Least likeness of a word to one of the vocabulary for it to be suggested as a slip of the keyboard."""


@dataclass
class Read:
    """What was read.

    Attributes:
        query: The question.
        odd: Declares the values.
        toks: Its words.
        cues: What is asked for.
        focus: Wanted values by dimension, in the order of the ODD.
        complement: Base values that stay where others are left out.
        left_out: Values that are left out.
        readings, suggestions: For the user.
        unsupported: Terms that the vocabulary does not have.
        notes: In sentences.
        top, per_slice: Amounts, None if not said.
        rest: Ranges of tokens that may be conditions and are none that is known.
        unused: Ranges of all tokens with a content that nothing was made of.
        understood: Whether there is anything to plan.
        only: Dimensions that a question without values is restricted to ("only weather").
        slips: Words that were read as others.
    """

    query: str
    odd: Odd
    toks: tuple[Token, ...]
    cues: Cues
    focus: Values = field(default_factory=dict)
    complement: Values = field(default_factory=dict)
    left_out: Values = field(default_factory=dict)
    readings: tuple[Reading, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    unsupported: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    top: int | None = None
    per_slice: int | None = None
    rest: list[tuple[int, int]] = field(default_factory=list)
    unused: list[tuple[int, int]] = field(default_factory=list)
    understood: bool = False
    only: tuple[str, ...] = ()
    slips: tuple[Slip, ...] = ()

    @property
    def words(self) -> bool:
        """Whether there is any word."""
        return any(t.word for t in self.toks)

    def is_base(self, dimension: str, value: str) -> bool:
        """Whether a value lies inside the ODD."""
        return self.odd.by_name[dimension].by_name[value].tier == "base"

    def quote(self, start: int, end: int) -> str:
        """Tokens as they stand in the question."""
        return self.query[self.toks[start].start : self.toks[end - 1].end]

    def base_only(self, focus: Mapping[str, Sequence[str]]) -> Values:
        """A filter on what was tested: base values that were named."""
        out = {d: [v for v in vs if self.is_base(d, v)] for d, vs in focus.items()}
        return {d: vs for d, vs in out.items() if vs and self.odd.by_name[d].active}

    def inside(self, focus: Mapping[str, Sequence[str]]) -> Values:
        """A filter inside the ODD: named base values, or the parents of named extended ones."""
        out: Values = {}
        for d, vs in focus.items():
            dim = self.odd.by_name[d]
            base = [v for v in vs if self.is_base(d, v)] or [dim.by_name[v].parent for v in vs if dim.by_name[v].parent]
            if base and dim.active:
                out[d] = in_order(dim, base)
        return out

    def add(self, dimension: str, values: Iterable[str]) -> None:
        """Wants further values."""
        dims = {**self.focus, dimension: [*self.focus.get(dimension, ()), *values]}
        self.focus = {d.name: in_order(d, dims[d.name]) for d in self.odd.dimensions if d.name in dims}


def in_order(dimension: Any, values: Iterable[str]) -> list[str]:
    """Values in the order of the document, each once."""
    wanted = set(values)
    return [v.name for v in dimension.values if v.name in wanted]


def interpret(query: str, odd: Odd) -> Read:
    """Reads a question: values, polarity, proxies, terms that are not there, amounts, cues."""
    written = tokens(query)
    vocab = vocabulary(odd)
    usual, found_slips = spelled(written)
    slips = [s for s in found_slips if written[s.at].text not in vocab.words]
    found = cues(usual)
    toks, own = spelled(written, vocab.words)
    hits = find_values(vocab, toks)
    read = Read(query, odd, toks, found, slips=tuple(dict.fromkeys((*slips, *own))))
    named = {i for at, (end, _) in find_dimensions(vocab, toks).items() for i in range(at, end)}
    taken = {i for h in hits for i in range(h.start, h.end)}
    unsupported = _unsupported(read, taken)
    taken |= {i for start, end, _ in unsupported for i in range(start, end)}
    foreign = _foreign(read, taken | named)
    taken |= {i for start, end, _ in foreign for i in range(start, end)}
    proxied = _proxies(read, hits)
    readings = [(start, r) for start, _, r in (*unsupported, *foreign)]
    meant = polarities(toks, hits, found.said)
    for hit, polarity in zip(hits, meant.of, strict=True):
        readings += [(hit.start, r) for r in _of_hit(read, hit, polarity, proxied.get(hit.start))]
    _leave_out(read)
    read.readings = tuple(r for _, r in sorted(readings, key=lambda p: p[0]))
    said = amounts(toks, hits, sampled=found.source is not None)
    read.top, read.per_slice = said.top, said.per_slice
    read.notes += said.notes
    read.notes.append(_not_done(read, taken))
    read.only = _only(toks, find_dimensions(vocab, toks))
    read.rest = loose(toks, taken | named)
    counted = counting(toks) if read.top or read.per_slice else set()
    read.unused = unused(toks, taken | named | meant.used | counted, found.said)
    _finish(read, vocab, hits, taken)
    return read


def _finish(read: Read, vocab: Vocabulary, hits: Sequence[Hit], taken: set[int]) -> None:
    """What is left over: slips of the keyboard, words of no use, and whether anything was understood."""
    matched = bool(read.focus or read.left_out or hits)
    cue = bool(read.cues.spans)
    over = [i for s, e in read.rest for i in range(s, e)]
    also = [s for s in read.suggestions if s.value not in read.focus.get(s.dimension, ())]
    read.suggestions = tuple(dict.fromkeys([*also, *_slips(read, vocab, over)]))
    enough = len(over) < 2 * max(len(taken), 1)
    only_unsupported = bool(read.unsupported) and not matched
    ours = matched or not over or bool(set(read.cues.spans) & set(ACTS)) or _in_domain(read, vocab)
    read.understood = ((cue and ours) or (matched and enough)) and not read.cues.injection and not only_unsupported
    slips = [s for s in read.slips if s.at not in over]
    if slips:
        told = ", ".join(f'"{read.quote(s.at, s.at + 1)}" as "{s.read_as}"' for s in slips)
        read.notes.append(f"Spelling: read {told}.")


def _not_done(read: Read, taken: set[int]) -> str:
    """What to say where words of samples or of an evaluation led to neither, "" otherwise."""
    samples, evaluation = mentions(read.toks, taken | read.cues.said)
    if read.cues.source is None and (samples or evaluation or read.per_slice):
        number = "A number of samples was named, but none are asked for; it has no effect. " if read.per_slice else ""
        return f'{number}Nothing is fetched or evaluated: say "find samples" or "evaluate the model" for that.'
    if read.cues.source is not None and "evaluate" not in read.cues and evaluation:
        return 'Nothing is evaluated: say "evaluate the model" for that.'
    return ""


_ONLY = frozenset("only just solely exclusively purely strictly".split())


def _only(toks: Sequence[Token], dimensions: Mapping[int, tuple[int, str]]) -> tuple[str, ...]:
    """Dimensions that are named as the only ones ("only weather", "weather and sky only") or asked for by name ("which weather")."""
    words = [t.text for t in toks]
    out: list[str] = []
    for at, (end, dimension) in dimensions.items():
        before, after = words[max(0, at - 3) : at], words[end : end + 2]
        joined = bool(out) and before[-1:] in (["and"], ["or"], [","], ["&"])
        asked = before[-1:] in (["which"], ["what"]) or "limited" in before or "restricted" in before or "stick" in before
        if joined or asked or _ONLY & set(before) or _ONLY & set(after[:1]) or after == ["conditions", "only"]:
            out.append(dimension)
    return tuple(dict.fromkeys(out))


def _in_domain(read: Read, vocab: Vocabulary) -> bool:
    """Whether any word is about driving or testing; "Which stocks are risky?" has none."""
    ours = language().domain
    return (
        bool(read.unsupported) or bool(find_dimensions(vocab, read.toks)) or any(t.text in ours or stem(t.text) in ours for t in read.toks)
    )


def not_used(read: Read) -> str:
    """What to say of the words that nothing was made of, "" if there are none; a word that is told as read elsewhere is told once."""
    told = {r.phrase.casefold() for r in read.readings}
    words = ", ".join(f'"{x}"' for x in dict.fromkeys(read.quote(s, e) for s, e in read.unused) if x.casefold() not in told)
    return f"Not used: {words}." if words else ""


def _of_hit(read: Read, hit: Hit, polarity: Polarity, proxy: tuple[str, str, str] | None) -> list[Reading]:
    phrase, out = read.quote(hit.start, hit.end), []
    if proxy is not None:
        dimension, value, note = proxy
        read.notes.append(f"Read by proxy: {note}")
        if polarity == "wanted":
            read.add(dimension, [value])
            return [Reading(phrase, "proxy", dimension, value, note)]
        if polarity == "left_out":
            read.left_out.setdefault(dimension, []).append(value)
        return [Reading(phrase, "proxy", dimension, value, f"{note}; {_NOT_WANTED[polarity]}")]
    slips = [s for s in read.slips if hit.start <= s.at < hit.end]
    spelling = ", ".join(f'"{read.quote(s.at, s.at + 1)}" read as "{s.read_as}"' for s in slips)
    note = "; ".join(filter(None, (spelling, hit.note)))
    if hit.others:
        also = ", ".join(f"{e.dimension}={e.value}" for e in hit.others)
        note = "; ".join(filter(None, (note, f"also a word for {also}")))
        read.suggestions = (*read.suggestions, *(Suggestion(phrase, e.dimension, e.value, 1.0) for e in hit.others))
    for e in hit.entries:
        meant = read.odd.by_name[e.dimension].by_name[e.value]
        how: How = "extension" if meant.tier == "extended" else e.how
        if polarity == "wanted":
            said = note
            if how == "extension":
                inside = f"inside it the nearest is {meant.parent}" if meant.parent else "nothing inside it is named as near"
                said = "; ".join(filter(None, (note, f"outside the ODD; {inside}")))
            out.append(Reading(phrase, how, e.dimension, e.value, said))
        else:
            out.append(Reading(phrase, how, e.dimension, e.value, "; ".join(filter(None, (spelling, _NOT_WANTED[polarity])))))
    values = [e.value for e in hit.entries]
    if polarity == "wanted":
        read.add(hit.dimension, values)
    elif polarity == "left_out":
        read.left_out.setdefault(hit.dimension, []).extend(values)
    elif polarity == "unsure":
        read.notes.append(
            f'It is not sure whether "{phrase}" is wanted or to be left out, so it has no effect; say "only {phrase}" or "not {phrase}".'
        )
    elif polarity == "any":
        read.notes.append(f'"{phrase}" was read as no restriction on {hit.dimension}.')
    else:
        read.notes.append(
            f'"{phrase}" is part of a combination to be left out; a filter can only leave out single values, so it has no effect.'
        )
    return out


def _leave_out(read: Read) -> None:
    """Takes values away: from what is wanted, or from the whole dimension where nothing of it is wanted."""
    for name, values in read.left_out.items():
        dim = read.odd.by_name[name]
        gone = set(values) | {v.name for v in dim.values if v.parent in values}
        read.left_out[name] = in_order(dim, gone)
        named = ", ".join(in_order(dim, values))
        if name in read.focus:
            kept = [v for v in read.focus[name] if v not in gone]
            read.notes.append(f"Left out of {name}: {named}.")
            read.focus = {d: (kept if d == name else vs) for d, vs in read.focus.items() if d != name or kept}
            if kept:
                continue
        base = [v.name for v in dim.base if v.name not in gone]
        if len(base) == len(dim.base):
            anyway = "" if {"outside", "edge"} & read.cues.spans.keys() else ", outside the ODD anyway"
            read.notes.append(f"Left out of {name}: {named}{anyway}.")
        elif not base:
            read.notes.append(f"Leaving out {named} would leave nothing of {name}, so it has no effect.")
        else:
            read.complement[name] = base
            read.notes.append(f"Left out of {name}: {named}; what stays is {', '.join(base)}.")


def _unsupported(read: Read, taken: set[int]) -> list[tuple[int, int, Reading]]:
    """Terms that the ODD says it does not have, with their ranges of tokens."""
    terms: dict[str, str] = dict(read.odd.extras.get("unsupported_terms") or {})
    used = set(taken)
    stems = [stem(t.text) for t in read.toks]
    out = []
    for term, note in sorted(terms.items(), key=lambda p: -len(key(p[0]))):
        wanted = tuple(stem(w) for w in key(term))
        for i in range(len(stems) - len(wanted) + 1):
            end = i + len(wanted)
            if not wanted or tuple(stems[i:end]) != wanted or used & set(range(i, end)):
                continue
            used |= set(range(i, end))
            target = str(note).removeprefix("see ").strip()
            told = str(terms.get(target, note))
            read.unsupported.append(target if target in terms else term)
            read.notes.append(f'"{read.quote(i, end)}": {told}')
            out.append((i, end, Reading(read.quote(i, end), "unsupported", note=told)))
            read.suggestions = (*read.suggestions, *_named_in(read, i, end, told))
    return out


def _foreign(read: Read, taken: set[int]) -> list[tuple[int, int, Reading]]:
    """Conditions that the built-in ODD has and this one does not: wanted ones are told, not passed over."""
    known = built_in()
    if read.odd.hash == known.hash:
        return []
    hits = [
        h
        for h in find_values(vocabulary(known), read.toks)
        if h.dimension != "question_category" and not taken & set(range(h.start, h.end))
    ]
    out = []
    for hit, polarity in zip(hits, polarities(read.toks, hits, read.cues.said).of, strict=True):
        phrase = read.quote(hit.start, hit.end)
        if polarity != "wanted" or (hit.end - hit.start == 1 and read.toks[hit.start].text in language().degrees):
            continue
        read.unsupported.append(phrase)
        read.notes.append(f'"{phrase}": this ODD has no such value; no slice was scored for it.')
        out.append((hit.start, hit.end, Reading(phrase, "unsupported", note="This ODD has no such value.")))
    return out


def _named_in(read: Read, start: int, end: int, note: str) -> list[Suggestion]:
    """Values that a note names as `dimension=value`."""
    return [
        Suggestion(read.quote(start, end), d.name, v.name, 1.0)
        for d in read.odd.dimensions
        for v in d.values
        if f"{d.name}={v.name}" in note.replace(".", " ").replace(",", " ").split()
    ]


def _proxies(read: Read, hits: Sequence[Hit]) -> dict[int, tuple[str, str, str]]:
    """Hits that are read as a value near them, by the rules of the ODD: first token to dimension, value and note."""
    out: dict[int, tuple[str, str, str]] = {}
    for rule in read.odd.extras.get("proxies") or ():
        term, use = str(rule.get("term", "")), rule.get("use")
        if not term or not isinstance(use, Mapping) or "outside" in read.cues:
            continue
        pairs = [(str(d), str(v)) for d, vs in use.items() for v in (vs if isinstance(vs, list) else [vs])]
        pairs = [(d, v) for d, v in pairs if d in read.odd.by_name and v in read.odd.by_name[d].by_name]
        if not pairs:
            continue
        meant = _values_of(read.odd, term)
        company = "together" in str(rule.get("when", ""))
        there = {(e.dimension, e.value) for h in hits for e in (*h.entries, *h.others)}
        if company and not there & set(pairs):
            continue
        for h in hits:
            if any((e.dimension, e.value) in meant for e in h.entries):
                out[h.start] = (*pairs[0], str(rule.get("note", f"{term} is read as {pairs[0][1]}.")))
    return out


def _values_of(odd: Odd, term: str) -> set[tuple[str, str]]:
    return {(e.dimension, e.value) for h in find_values(vocabulary(odd), tokens(term)) for e in h.entries}


def _slips(read: Read, vocab: Vocabulary, loose: Sequence[int]) -> list[Suggestion]:
    """Words that look like a phrase of one word with a slip of the keyboard. They are only suggested: "training" is not "raining"."""
    out = []
    for i in loose:
        word = read.toks[i].text
        if len(word) < 5:
            continue
        best: tuple[float, str] = (0.0, "")
        for phrase in vocab.single_words():
            if phrase[0] == word[0] and abs(len(phrase) - len(word)) < 3:
                best = max(best, (SequenceMatcher(None, word, phrase).ratio(), phrase))
        if best[0] >= _TYPO:
            out += [Suggestion(read.quote(i, i + 1), e.dimension, e.value, round(best[0], 3)) for e in vocab.exact[best[1],]]
    return out

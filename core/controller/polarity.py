"""Which of the values that a question names are wanted, which are to be left out, and which do not matter ("not at night")."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal

from core.controller.cues import is_cue_word, verb_bases
from core.controller.language import asked_about, language, said_after
from core.controller.matching import Hit, listed
from core.controller.words import BREAKS, Token

Polarity = Literal["wanted", "left_out", "any", "combination", "unsure"]
"""combination: several values together are to be left out, which a filter cannot do; unsure: it is not clear which."""

Phrase = tuple[str, ...]
_Kind = Literal["leave_out", "doubtful", "verbs_out", "weak", "any"]
_LINKS = ("and", "or", "nor", "&", "/", ",")
_FAR = 6
"""Words at most that are passed over in search of what a negation is about."""
_NEAR = 3
"""Words at most between a value and a word that looks negative, for its scope to be in doubt."""
_ENDS = frozenset(") ] . ; : ? ! ,".split())
_JOINS = frozenset("and but then so although though because while whereas".split())
_ALL = frozenset("any all every anything everything whole".split())
_HAVE = frozenset("have has had got gotten i've we've they've there there's is are was were see saw seen".split())


@cache
def _phrases(kind: Literal["leave_out", "doubtful", "verbs_out", "weak", "any", "any_after"]) -> Mapping[str, tuple[Phrase, ...]]:
    """Phrases of a kind by their first word, longer ones first."""
    out: dict[str, tuple[Phrase, ...]] = {}
    for phrase in sorted((tuple(p.split()) for p in getattr(language().negation, kind)), key=lambda p: -len(p)):
        out[phrase[0]] = (*out.get(phrase[0], ()), phrase)
    return out


@dataclass(frozen=True)
class Polarities:
    """What is meant with the values.

    Attributes:
        of: The polarity of each value.
        used: Words that say so.
    """

    of: tuple[Polarity, ...]
    used: frozenset[int]


def polarities(toks: Sequence[Token], hits: Sequence[Hit], said: Collection[int] = ()) -> Polarities:
    """The polarity of each value that a question names.

    Negation reaches over a list ("except tunnels, bridges and rural roads") up to the next preposition, verb or sign. Words that say
    that something was not *tested* leave nothing out ("no night data", "not yet covered at night"). Where words that leave something
    out stand before a value and what is between them cannot be read, or a list goes on in another way, the value is unsure; so is one
    with a word near it that looks negative and was not understood.

    Args:
        toks: The question.
        hits: The values that it names.
        said: Words that are part of what the question asks for, such as "not yet tested".
    """
    reader = _Reader(toks, hits, said)
    return Polarities(tuple(reader.run()), frozenset(reader.used))


class _Reader:
    """One pass over a question."""

    def __init__(self, toks: Sequence[Token], hits: Sequence[Hit], said: Collection[int]) -> None:
        self.toks, self.hits, self.said = toks, hits, said
        self.used: set[int] = set()
        self.passed: set[int] = set()  # words that could have left something out and did not
        self.out: list[Polarity] = ["wanted"] * len(hits)
        self.at = {h.start: i for i, h in enumerate(hits)}
        self.inside = {j for h in hits for j in range(h.start, h.end)}

    def run(self) -> list[Polarity]:
        i = 0
        while i < len(self.toks):
            i = max(self._negation(i), i + 1) if i not in self.inside else i + 1
        for pattern, span in said_after(self.toks):
            if span.start in {h.end for h in self.hits}:
                self._after(next(i for i, h in enumerate(self.hits) if h.end == span.start), pattern, span.end)
        for i, hit in enumerate(self.hits):
            if self.out[i] == "wanted" and (size := _starts(self.toks, hit.end, _phrases("any_after"))):
                self._set(self._list_before(i, same=True), "any")
                self._use(hit.end, hit.end + size)
            else:
                self._around(i)
                self._answered(i)
        for i in range(len(self.hits)):
            self._doubt(i)
        return self.out

    def _around(self, i: int) -> None:
        """Reads a verb and its particle with values in between: "keep the highway out of it", "take rain and fog off the list"."""
        said, end = language().negation, self.hits[i].end
        at = next((j for j in range(end, end + 3) if self._word(j) not in said.nouns | said.data), end)
        if (
            self._word(at) not in said.particles | {"outside", "behind"}
            or at in self.inside
            or self.toks[at].glued
            or (at + 1 < len(self.toks) and self.toks[at + 1].glued)
        ):
            return
        chain = self._list_before(i)
        first = self.hits[chain[-1]].start
        verb = next((j for j in range(first - 1, first - 5, -1) if self._word(j) not in said.between | said.filler), first - 1)
        if self._word(verb) not in said.particle_verbs or verb in self.inside:
            return
        told = bool({"do", "does", "did", "have", "has", "had", "we", "they", "it", "you"} & set(self._clause_before(verb)[-2:]))
        self._set(chain, "unsure" if told else "left_out", over=True)
        self._use(verb, at + 1)

    def _answered(self, i: int) -> None:
        """Reads an answer behind a value: "rain (no thanks)", "rain: no"; of an answer to a question it is not sure what it is about."""
        sign = at = self.hits[i].end
        while at < len(self.toks) and not self.toks[at].word:
            at += 1
        no, then = self._word(at), self._word(at + 1)
        thanks = then in ("thanks", "thank", "thx", "please", "pls", "way", "need")
        if at > sign and no in language().negation.answers and (thanks or not then or then in _ENDS):
            question = self._word(sign) in ("?", ".") and self._clause_before(self.hits[i].start)
            self._set([i], "unsure" if question else "left_out", over=True)
            before = self._list_before(i)[1:2]
            if before and {"and", "or"} & {t.text for t in self.toks[self.hits[before[0]].end : self.hits[i].start]}:
                self._set(self._list_before(i)[1:], "unsure")  # "tunnels and bridges (no thanks)": both or the last one
            self._use(at, at + 2 if thanks else at + 1)

    def _doubt(self, i: int) -> None:
        """Does not apply a value with a word near it that looks negative and that nothing was made of."""
        if self.out[i] != "wanted":
            return
        for step, start in ((-1, self.hits[i].start - 1), (1, self.hits[i].end)):
            j = start
            while abs(j - start) <= _NEAR and 0 <= j < len(self.toks) and self.toks[j].word and j not in self.inside:
                of_its_own = step > 0 and self._word(j) in ("without", "than", "except") and self._word(j + 1).isalpha()
                if self._word(j) in _JOINS or of_its_own:
                    break
                if self._looks_negative(j) and not self._explained(i, j):
                    return self._set([i], "unsure")
                j += step
        return None

    def _looks_negative(self, j: int) -> bool:
        said = language().negation
        return self._word(j) in said.particles | said.negative or self._word(j).endswith("n't")

    def _explained(self, i: int, j: int) -> bool:
        """Whether a word that looks negative says something else than that a value is not wanted."""
        if j in self.used | self.passed or self._says_untested(j, self.hits[i].end):
            return True
        before = self._clause_before(j)
        if self._word(j) in language().negation.particles:
            verbs = [w for k, w in enumerate(before[-3:]) if j - len(before[-3:]) + k not in self.inside]
            before_place = j < self.hits[i].start and self._word(j + 1) in language().negation.prepositions  # "lights off at night"
            asked = {"have", "has", "had", "did", "do", "does"} & set(before[-4:]) and before[-1] in language().negation.particle_verbs
            phrasal = language().negation.phrasal & set(verbs)
            return j in self.said or self.toks[j].glued or self._word(j + 1) == "there" or bool(asked or phrasal or before_place)
        dont = self._word(j) in ("don't", "dont") or (self._word(j) == "not" and before[-1:] == ["do"])
        opens = set(before[-2:] if dont else before[-1:]) <= {"do", "please", "pls", "and", "but", "just", "so", "then", "also"}
        if dont and opens and self._word(j + 1) in verb_bases():
            return False  # "do not test rain"
        between = range(min(i_, j) + 1, max(i_, j)) if (i_ := self.hits[i].start) else ()
        known = language().negation
        prepared = known.between | known.filler | known.nouns | known.data | {"much", "many", "really", "too"}
        about_a_verb = any(is_cue_word(self._word(k)) and self._word(k) not in prepared for k in between)
        return j in self.said or (about_a_verb and self._word(j) not in ("no", "without", "none", "nor"))

    def _use(self, start: int, end: int) -> None:
        self.used |= set(range(start, end)) - self.inside

    def _negation(self, i: int) -> int:
        """Reads a negation at a token, if there is one, and gives the token behind what it reaches."""
        sizes: dict[_Kind, int] = {k: _starts(self.toks, i, _phrases(k)) for k in ("any", "leave_out", "doubtful", "verbs_out", "weak")}
        kind = max(sizes, key=lambda k: sizes[k])
        if not sizes[kind] or (kind == "verbs_out" and self._no_order(i, i + sizes[kind])):
            self.passed |= set(range(i, i + sizes[kind]))
            return i + 1
        if self._word(i) in ("we", "nothing", "but", "bar") and kind == "leave_out" and not self._speaks(i):
            self.passed.add(i)
            return i + 1
        start = i + sizes[kind]
        while start > i + 1 and start - 1 in self.inside:  # "nothing at night"
            start -= 1
        reached, end, loose = self._reach(start, strong=kind in ("leave_out", "doubtful", "verbs_out"))
        if reached or loose:
            self._use(i, end if reached else start)
        if kind == "doubtful":
            self._set(reached + loose, "wanted" if asked_about(self._clause_before(i)) else "unsure", over=True)
        elif kind == "any":
            but_also = any(t.text == "but" for t in self.toks[end : end + 2]) and self._word(i) == "not"
            self._set(reached, "wanted" if but_also else "any", over=True)
        elif not self._says_untested(i, end):
            dims = {self.hits[h].dimension for h in reached}
            together = len(dims) > 1 and not all(listed(self.toks, self.hits[a], self.hits[b]) for a, b in pairwise(reached))
            self._set(reached, "combination" if together else "left_out", over=True)
            self._set(loose, "unsure")
        return max(end if reached or loose else start, i + 1)

    def _no_order(self, i: int, start: int) -> bool:
        """Whether a verb of leaving out tells or asks what is left out: "where does accuracy drop in rain", "what did we skip"."""
        if len(self.toks[i:start]) == 1 and self._word(start) in language().negation.prepositions:
            return True
        before = self._clause_before(i)[-4:]
        return bool({"do", "does", "did", "have", "has", "had"} & set(before)) or before[-1:] in (["it"], ["model"], ["that"], ["which"])

    def _speaks(self, i: int) -> bool:
        """Whether words that leave something out do so here: "we have enough fog", but not "do we have enough"; "nothing in rain"."""
        before = self._clause_before(i)
        if self._word(i) == "we":
            return not before or before[-1] in ("because", "as", "since", "that", "and", "but", "of")
        if self._word(i) == "but":
            return self._word(i + 1) in ("not", "none") or bool(_ALL & set(before[-3:]))
        if self._word(i) == "nothing" and self._word(i + 1) in ("but", "except", "besides", "other"):
            return False
        if self._word(i) == "bar":
            return self._word(i - 1) not in ("the", "a", "an", "our")
        return not _HAVE & set(before[-3:])

    def _clause_before(self, i: int) -> list[str]:
        """Words before a token, back to the nearest sign."""
        out: list[str] = []
        while i > 0 and self.toks[i - 1].word:
            i -= 1
            out.insert(0, self.toks[i].text)
        return out

    def _reach(self, start: int, *, strong: bool) -> tuple[list[int], int, list[int]]:
        """The values that a negation before a token reaches, the end of the last one, and values of which that is not sure."""
        said = language().negation
        reached: list[int] = []
        link, lead, wish = "", "", False
        j = end = start
        j += self._word(j) == ":"  # "without: rain"
        while j < len(self.toks):
            word = self._word(j)
            if j in self.at:
                h = self.at[j]
                if reached and not link and word in said.prepositions:  # "other than rain at night"
                    break
                other = bool(reached) and self.hits[h].dimension != self.hits[reached[-1]].dimension
                if link == "," and other and not self._goes_on(h):
                    ends = j + 1 > len(self.toks) or self.hits[h].end >= len(self.toks) or self._word(self.hits[h].end) in BREAKS
                    return reached, end, [h] if strong and ends else []
                reached.append(h)
                j = end = self.hits[h].end
                link = ""
            elif word in _LINKS and reached:
                link = "," if word == "," or (link == "," and word == ",") else "and" if word in ("and", "&") else "or"
                j += 1
            elif word in said.between:
                ends = not link or not lead or (link == "," and not strong)  # "other than in rain and at night" goes on
                if reached and word in said.prepositions and link != "or" and ends:
                    return reached, end, self._loose(j, 1) if strong and link == "and" else []
                lead = word if not reached and word in said.prepositions else lead
                j += 1
            elif reached and (link or word not in said.nouns):
                break
            elif reached or word in ("those", "these", "ones") or ((strong or wish) and word in said.filler | said.nouns):
                j += 1
            elif word in said.verbs or word in said.wishes:
                wish, j = wish or word in said.wishes, j + 1
            else:
                break
        if strong and (not reached or link):
            return reached, end, self._loose(j, 2 if reached else _FAR)
        return reached, end, []

    def _goes_on(self, h: int) -> bool:
        """Whether a list that a comma starts ends in "and" or "or": "rain, tunnels and bridges"."""
        while h + 1 < len(self.hits) and listed(self.toks, self.hits[h], self.hits[h + 1]):
            between = {t.text for t in self.toks[self.hits[h].end : self.hits[h + 1].start]}
            if between & {"and", "or", "nor", "&", "/"}:
                return True
            h += 1
        return False

    def _loose(self, j: int, most: int) -> list[int]:
        """The next value within some words of no known use, none of them a sign, and those in a list with it."""
        for k in range(j, min(j + most + 1, len(self.toks))):
            if k in self.at:
                out = [self.at[k]]
                while out[-1] + 1 < len(self.hits) and listed(self.toks, self.hits[out[-1]], self.hits[out[-1] + 1]):
                    out.append(out[-1] + 1)
                return out
            word = self._word(k)
            known = language().negation
            prepared = word in known.between | known.filler | known.nouns
            if not self.toks[k].word or word in ("and", "but", "then", "so") or (is_cue_word(word) and not prepared):
                return []
        return []

    def _after(self, i: int, pattern: str, end: int) -> None:
        """Reads words after a value that leave it out: "tunnels excluded", "rain and snow can be skipped"."""
        clause = self._clause_before(self.hits[i].start)
        if self.out[i] != "wanted" or (pattern == "after_said" and asked_about(clause)):
            return None
        self._use(self.hits[i].end, end)
        chain = self._list_before(i)
        first = chain[-1]
        if pattern == "after" and clause[:1] in (["why"], ["was"], ["were"]):
            return self._set(chain, "unsure")
        beside = first > 0 and self.hits[first - 1].end == self.hits[first].start
        if beside:
            return self._set([*chain, first - 1], "combination")
        before = self._clause_before(self.hits[first].start)
        filler = language().negation.between | {"all", "both", "leave", "leaving"}
        opens = before[-1:] == ["with"] or set(before) <= filler
        for n, h in enumerate(chain):
            if opens or self.hits[h].dimension == self.hits[i].dimension:
                self._set([h], "left_out")
            elif "," in {
                t.text for t in self.toks[self.hits[h].end : self.hits[chain[n - 1]].start]
            }:  # "on highways, rain and fog excluded"
                break
            else:
                self._set([h], "unsure")
        return None

    def _list_before(self, i: int, *, same: bool = False) -> list[int]:
        """A value and those before it in a list, last first; a comma alone joins values of one dimension, `same` takes no others."""
        out, joined = [i], False
        while out[-1] > 0 and listed(self.toks, self.hits[out[-1] - 1], self.hits[out[-1]]):
            a, b = self.hits[out[-1] - 1], self.hits[out[-1]]
            joined = joined or any(t.text in ("and", "or", "nor", "&", "/") for t in self.toks[a.end : b.start])
            between = [t.text for t in self.toks[a.end : b.start]]
            if a.dimension != b.dimension and (same or not joined or ("," in between and len(between) > 1)):
                break
            out.append(out[-1] - 1)
        return out

    def _set(self, chain: Sequence[int], polarity: Polarity, *, over: bool = False) -> None:
        for h in chain:
            if over or self.out[h] == "wanted":
                self.out[h] = polarity

    def _word(self, i: int) -> str:
        return self.toks[i].text if 0 <= i < len(self.toks) else ""

    def _says_untested(self, i: int, end: int) -> bool:
        """Whether a negation speaks of a lack of data or tests: "no night data", "we have no tunnels"."""
        first = self._word(i)
        if first not in ("no", "without", "not", "don't", "doesn't", "isn't", "aren't"):
            return False
        before, earlier = self._word(i - 1), self._word(i - 2)
        lacking = first == "no" and before in ("have", "had", "got", "i've", "we've") and earlier not in ("which", "that", "must", "should")
        return lacking or bool(language().negation.data & {self._word(end), self._word(end + 1)})


def _starts(toks: Sequence[Token], i: int, phrases: Mapping[str, tuple[Phrase, ...]]) -> int:
    """Length of the longest phrase that starts at a token, 0 if none does."""
    known = phrases.get(toks[i].text, ()) if i < len(toks) else ()
    return next((len(p) for p in known if tuple(t.text for t in toks[i : i + len(p)]) == p), 0)

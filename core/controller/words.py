"""A text as words that can be compared, each of which knows where it stands in the text as it was written."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "′": "'"})
_DASHES = "-‐‑‒–—―−"
_LONG = "—―"
_ALONE = re.compile("[぀-ヿ㐀-䶿一-鿿豈-﫿가-힯฀-๿຀-໿က-႟ក-៿]")
"""Letters of scripts that put no spaces between words, or glue particles to them: each is a word of its own."""
_WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:'[^\W\d_]+)*")
BREAKS = frozenset(".;:?!")
"""Signs that end a clause; a dash between spaces is written as one of them."""


@dataclass(frozen=True)
class Token:
    """A word or a sign.

    Attributes:
        text: Folded: NFKC, no case, straight quotes, without a possessive 's.
        start, end: Where it stands in the text as it was written.
        word: Whether it is a word; otherwise it is one sign.
        glued: Whether a hyphen or underscore joins it to the word before.
    """

    text: str
    start: int
    end: int
    word: bool
    glued: bool = False


def tokens(text: str) -> tuple[Token, ...]:
    """The words and signs of a text, in order.

    "&" and "+" between words are "and".
    Hyphens and underscores inside words part them; a dash with a space beside it ends a clause; so do changes of case (WetNoon).
    """
    folded, places = _folded(text)
    out: list[Token] = []
    i, glued = 0, False
    while i < len(folded):
        c = folded[i]
        if c.isspace() or c == "\n":
            i, glued = i + 1, False
            continue
        if c == "\0":  # a change of case
            i, glued = i + 1, True
            continue
        if c == "_" or c in _DASHES:
            after = folded[i + 1] if i + 1 < len(folded) else " "
            before = folded[i - 1] if i else " "
            inside = not before.isspace() and not after.isspace() and c not in _LONG and after not in _DASHES and before not in _DASHES
            if not inside and c != "_":
                out.append(Token(";", places[i][0], places[i][1], False))
            i, glued = i + 1, inside or c == "_"
            continue
        if _and(folded, i):
            out.append(Token("and", places[i][0], places[i][1], True))
            i, glued = i + 1, False
            continue
        if _ALONE.match(c):
            end = i + 1
        elif m := _WORD.match(folded, i):
            end = next((j for j in range(i + 1, m.end()) if _ALONE.match(folded[j])), m.end())
        else:
            out.append(Token(c, places[i][0], places[i][1], False))
            i, glued = i + 1, False
            continue
        word = folded[i:end].removesuffix("'s").rstrip("'") or folded[i:end]
        out.append(Token(word, places[i][0], places[end - 1][1], True, glued))
        i, glued = end, False
    return tuple(out)


def _and(text: str, i: int) -> bool:
    """Whether a sign stands for "and": "stop&go", "fog + rain", but not "C++", "5+" and "+5"."""
    before, after = text[i - 1] if i else " ", text[i + 1] if i + 1 < len(text) else " "
    between = (before.isspace() and after.isspace()) or (before.isalpha() and after.isalpha())
    return text[i] == "&" or (text[i] == "+" and between and 0 < i < len(text) - 1)


def _folded(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text folded letter by letter, and for each letter where it came from. Invisible letters vanish; a change of case gives a NUL."""
    letters: list[str] = []
    places: list[tuple[int, int]] = []
    i = 0
    while i < len(text):
        end = i + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        cluster = unicodedata.normalize("NFKC", text[i:end]).translate(_QUOTES)
        if unicodedata.category(text[i]) not in ("Cf", "Cc", "Cs") or text[i].isspace():
            if i and text[i].isupper() and text[i - 1].islower():
                letters.append("\0")
                places.append((i, i))
            for c in cluster.casefold():
                letters.append(c)
                places.append((i, end))
        i = end
    return "".join(letters), places


def key(text: str) -> tuple[str, ...]:
    """A name as the words and signs it is compared by; brackets, quotes and signs at the ends say nothing."""
    parts = [t.text for t in tokens(text) if t.word or t.text not in "\"'()[]{},"]
    while len(parts) > 1 and parts[-1] in BREAKS:
        parts.pop()
    return tuple(parts)


_IRREGULAR = {"icy": "ice", "iced": "ice", "ices": "ice", "children": "child", "kids": "child", "people": "person", "buses": "bus"}
_WHOLE = frozenset("busy sunny heavy city body study empty story party duty".split())
"""Words whose -y is no ending."""
_BRITISH = ((r"isation$", "ization"), (r"is(e[sdr]?|ing)$", r"iz\1"), (r"our(s?|hoods?)$", r"or\1"), (r"([^aeiou])re(s?)$", r"\1er\2"))
_SPELLED = {"tyre": "tire", "tyres": "tire", "grey": "gray", "kerb": "curb", "kerbs": "curb", "programme": "program"}


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A word without plural, -y of an adjective, comparison or British spelling; "foggy", "foggier" and "fog" give the same.

    Verb endings stay, see `verb_stem`. Words of fewer than four letters, and of other scripts, stay as they are.
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    word = _SPELLED.get(word, word)
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for pattern, to in _BRITISH:
        word = re.sub(pattern, to, word)
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif re.search(r"(?:ss|sh|ch|x|zz)es$", word):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending, to in (("iness", "y"), ("ness", ""), ("iest", "y"), ("ier", "y")):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            word = word[: -len(ending)] + to
            break
    if word.endswith("y") and len(word) > 3 and word[-2] not in "aeiou" and word not in _WHOLE:
        word = _single(word[:-1])
    return word.removesuffix("e") if len(word) > 3 else word


def verb_stem(word: str) -> str:
    """The stem without -ing or -ed: "drizzling" as "drizzle"."""
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return stem(_single(word[: -len(ending)]))
    return stem(word)


def _single(word: str) -> str:
    """A word without the doubled consonant that an ending called for."""
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls" else word

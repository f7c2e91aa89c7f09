"""What a question says that nothing is made of, so that it can be told."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from core.controller.cues import is_cue_word
from core.controller.language import idioms, idle_stems, language, negation_words, things
from core.controller.words import Token, stem

_INDEFINITE = frozenset("anyone anybody anything nobody everyone everybody nothing".split())
Ranges = list[tuple[int, int]]
_SHORTENED = re.compile(r"(?:'(?:re|ve|ll|d|m|s|t)|n't)$")


def loose(toks: Sequence[Token], taken: Collection[int]) -> Ranges:
    """Runs of words that may be conditions which the vocabulary does not have: none that is used in questions, wherever it stands.

    Args:
        toks: The question.
        taken: Words that were read.
    """
    passed = {*taken, *(i for start, end in idioms(toks) for i in range(start, end))}
    known = negation_words()
    return _runs(
        [
            _content(t) and i not in passed and t.text not in known and not is_cue_word(t.text) and "'" not in t.text
            for i, t in enumerate(toks)
        ]
    )


def unused(toks: Sequence[Token], taken: Collection[int], said: Collection[int]) -> Ranges:
    """Runs of all words with a content that nothing was made of, for the user.

    A word that is used in questions counts as used only where it is part of what was asked for ("hardly tested", not "hardly anyone").

    Args:
        toks: The question.
        taken: Words that were read, and those that leave something out or say how much.
        said: Words that are part of what is asked for; patterns pass over others between them.
    """
    named = {i for start, end in things(toks) for i in range(start, end)}  # "wrong-way driver", all of it
    cue = {i for i in said if is_cue_word(toks[i].text)}
    free = [
        i not in taken and ((i in named and t.word) or (_content(t) and i not in cue and not _SHORTENED.search(t.text)))
        for i, t in enumerate(toks)
    ]
    for i in range(1, len(toks)):  # "hardly anyone"
        free[i] = free[i] or (free[i - 1] and toks[i].text in _INDEFINITE and i not in taken and i not in cue)
    return _runs(free)


def _content(t: Token) -> bool:
    return t.word and len(t.text) > 1 and not t.text[0].isdigit() and t.text not in language().stop and stem(t.text) not in idle_stems()


def _runs(free: Sequence[bool]) -> Ranges:
    out: Ranges = []
    for i, ok in enumerate(free):
        if ok and out and out[-1][1] == i:
            out[-1] = (out[-1][0], i + 1)
        elif ok:
            out.append((i, i + 1))
    return out

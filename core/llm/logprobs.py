"""Log-probabilities of tokens as servers of different make tell them, and where in them the answer begins."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.llm.messages import Token

KEPT = 2
"""Tokens of an answer that are read and kept: a yes or no is the first, and lists of twenty for thousands of calls take room."""
ABOVE = 0.01
"""Rounding may lift a log-probability a little above 0; more than this is something else, such as a probability."""
HUGE = 1e6
"""Below minus this it stands for minus infinity."""
_MARKS = str.maketrans({"\u0120": " ", "\u2581": " ", "\u010a": "\n", "\u0109": "\t", "\u00a0": " "})
"""How byte-pair and sentence-piece vocabularies write blanks; some servers hand the marks on."""
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_SPECIAL = re.compile(r"<\|[^|>]*\|>|</?s>|<(?:bos|eos|pad|start_of_turn|end_of_turn)>")
_OPEN = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSE = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)


def plain(token: str) -> str:
    """The text of a token, without marks of its vocabulary."""
    return _BYTE.sub(lambda m: chr(int(m.group(1), 16)) if int(m.group(1), 16) < 128 else "", token.translate(_MARKS))


def answer_tokens(choice: Mapping[str, Any], text: str, most: int = KEPT) -> tuple[Token, ...]:
    """The first tokens of an answer with their log-probabilities.

    Blanks, special tokens and everything that belongs to reasoning before the answer are left out, whether the server tells the reasoning
    apart or not.

    Args:
        choice: Of a chat completion, cleaned: what is no finite number is None.
        text: The answer without reasoning.
        most: Tokens at most.

    Returns:
        () where the server told none, or reasoned to the end.
    """
    tokens = _read(choice.get("logprobs"))
    return tuple(tokens[_start(tokens, text) :][:most])


def tokens_json(tokens: Sequence[Token]) -> list[dict[str, Any]]:
    """Tokens as JSON values; minus infinity is null."""

    def number(x: float) -> float | None:
        return x if math.isfinite(x) else None

    return [{"token": t.text, "logprob": number(t.logprob), "top": [[w, number(x)] for w, x in t.top]} for t in tokens]


def tokens_of_json(data: Any) -> tuple[Token, ...]:
    """The reverse of `tokens_json`."""
    entries = data if isinstance(data, list) else []
    return tuple(Token(e["token"], _number(e["logprob"]), tuple((w, _number(x)) for w, x in e["top"])) for e in entries)


def _read(told: Any) -> list[Token]:
    if not isinstance(told, Mapping):
        return []
    content = told.get("content")
    if isinstance(content, list):
        return [t for entry in content if (t := _token(entry)) is not None]
    names, numbers, tops = (told.get(k) for k in ("tokens", "token_logprobs", "top_logprobs"))  # the form of plain completions
    if not isinstance(names, list):
        return []
    out = []
    for i, name in enumerate(names):
        listed = tops[i] if isinstance(tops, list) and i < len(tops) else None
        top = tuple((plain(str(w)), _number(x)) for w, x in listed.items()) if isinstance(listed, Mapping) else ()
        out.append(Token(plain(str(name)), _number(numbers[i] if isinstance(numbers, list) and i < len(numbers) else None), top))
    return out


def _token(entry: Any) -> Token | None:
    if not isinstance(entry, Mapping):
        return None
    listed = entry.get("top_logprobs")
    top: list[tuple[str, float]] = []
    if isinstance(listed, list):
        top = [(plain(str(t.get("token", ""))), _number(t.get("logprob"))) for t in listed if isinstance(t, Mapping)]
    elif isinstance(listed, Mapping):
        top = [(plain(str(w)), _number(x)) for w, x in listed.items()]
    return Token(plain(str(entry.get("token", ""))), _number(entry.get("logprob")), tuple(top))


def _start(tokens: Sequence[Token], text: str) -> int:
    """Index of the first token of the answer; one past the last where there is none."""
    ends, whole = [], ""
    for t in tokens:
        whole += _SPECIAL.sub("", t.text)
        ends.append(len(whole))
    closed = [m.end() for m in _CLOSE.finditer(whole)]
    begin = closed[-1] if closed else len(whole) if _OPEN.search(whole) else 0
    answer = text.strip()
    if answer and (found := whole.rfind(answer)) >= begin:  # reasoning that the server tells apart stands here without any tag
        begin = found
    for i, end in enumerate(ends):
        if end > begin and whole[max(begin, ends[i - 1] if i else 0) : end].strip():
            return i
    return len(tokens)


def _number(value: Any) -> float:
    """A log-probability; what can be none, since it is no finite number or clearly above 0, is minus infinity."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not value <= ABOVE:
        return -math.inf
    return min(float(value), 0.0) if value > -HUGE else -math.inf

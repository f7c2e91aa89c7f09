"""How fast a server may be asked, and how much may be spent: adaptive concurrency, rates, and a budget that pauses."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.errors import InputError, Problem
from core.llm.endpoint import Price
from core.llm.messages import Ask, Usage

CHARACTERS_PER_TOKEN = 4
IMAGE_TOKENS = 1_600
"""Rough size of an image of 1,280 px in tokens, for budgets only; models differ between a few hundred and some thousands."""
RAISE_AFTER = 20
"""Successes in a row after which one more call may be in flight."""


@dataclass(frozen=True)
class Limits:
    """How calls are paced, and where they stop.

    Attributes:
        start: Calls in flight at the start.
        most: Calls in flight at most.
        requests_per_minute, tokens_per_minute: Rates that the server allows, None for no limit.
        max_calls: Calls that may be sent, repeats included.
        max_tokens: Tokens that may be used, prompt and completion.
        max_cost: What may be spent, in the currency of the price.
        attempts: Times that one call is sent at most.
        first_wait, longest_wait: Seconds of the exponential back-off.
        patience: Longest wait, in seconds, that a server may ask for before the run pauses.
    """

    start: int = 4
    most: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    patience: float = 300.0

    def __post_init__(self) -> None:
        optional = ("requests_per_minute", "tokens_per_minute")
        rules = [
            ("start", 1 <= self.start <= self.most, f"a whole number from 1 to most ({self.most})"),
            ("most", 1 <= self.most <= 1_000, "a whole number from 1 to 1,000"),
            *((n, getattr(self, n) is None or getattr(self, n) > 0, "a number above 0, or none") for n in optional),
            *(
                (n, getattr(self, n) is None or getattr(self, n) >= 0, "a number of at least 0, or none")
                for n in ("max_calls", "max_tokens", "max_cost")
            ),
            ("attempts", self.attempts >= 1, "a whole number of at least 1"),
            ("first_wait", self.first_wait >= 0, "seconds"),
            ("longest_wait", self.longest_wait >= self.first_wait, "seconds, at least the first wait"),
        ]
        problems = [Problem(None, n, str(getattr(self, n)), allowed) for n, ok, allowed in rules if not ok]
        if problems:
            raise InputError("A limit of the evaluation is out of range.", problems)


class Gate:
    """Lets so many in at once: one more after each 20 successes, half as many after a refusal (AIMD).

    A burst of refusals of calls that were sent under the same limit halves it once.
    """

    def __init__(self, start: int, most: int) -> None:
        self.limit, self.most, self.inside = start, most, 0
        self._streak = 0
        self._era = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> int:
        """Wait for a place; gives a mark to leave with."""
        while self.inside >= self.limit:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(place)
            try:
                await place
            except asyncio.CancelledError:
                self._wake()
                raise
        self.inside += 1
        return self._era

    def leave(self) -> None:
        """Make room."""
        self.inside -= 1
        self._wake()

    def succeeded(self) -> None:
        """A call was answered."""
        self._streak += 1
        if self._streak >= RAISE_AFTER and self.limit < self.most:
            self.limit += 1
            self._streak = 0
            self._wake()

    def refused(self, mark: int) -> None:
        """A call was refused for being one too many."""
        self._streak = 0
        if mark == self._era:
            self.limit = max(1, self.limit // 2)
            self._era += 1

    def _wake(self) -> None:
        free = self.limit - self.inside
        while free > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                free -= 1


class Bucket:
    """A rate per minute; up to ten seconds' worth may go at once. Whoever takes more than there is waits for it."""

    def __init__(self, per_minute: float | None) -> None:
        self._rate = None if per_minute is None else per_minute / 60
        self._most = 0.0 if self._rate is None else max(1.0, self._rate * 10)
        self._level, self._at = self._most, time.monotonic()

    def take(self, amount: float) -> float:
        """Take an amount; gives the seconds to wait before it may be used."""
        if self._rate is None:
            return 0.0
        now = time.monotonic()
        self._level = min(self._most, self._level + (now - self._at) * self._rate) - amount
        self._at = now
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Return what was taken too much; a negative amount takes what was taken too little."""
        self._level = min(self._most, self._level + amount)


@dataclass(frozen=True)
class Need:
    """What a call may use at most, by estimate."""

    tokens: int
    cost: float


@dataclass
class Budget:
    """What was spent, and what those in flight may spend; a call starts only if all of it fits.

    Needs are estimates. As soon as a call has used more than its estimate, all others are expected to do the same, so that a cap is
    passed by no more than the first calls in flight were underestimated.

    Attributes:
        limits: Where it ends.
        calls: Calls sent.
        usage: Tokens used.
        cost: Spent on calls whose price is known.
    """

    limits: Limits
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float = 0.0
    _held: dict[int, Need] = field(default_factory=dict)
    _number: int = 0
    _worse: float = 1.0

    def reserve(self, need: Need) -> int | Literal["wait"] | str:
        """Set the need of a call aside.

        Returns:
            A number to settle with; "wait" if what others have set aside may yet come back; else why the budget is at its end.
        """
        held_tokens, held_cost = sum(x.tokens for x in self._held.values()), sum(x.cost for x in self._held.values())
        used, worse = self.usage.prompt + self.usage.completion, self._worse
        ends = [
            ("calls", self.limits.max_calls, self.calls, 0, 1),
            ("tokens", self.limits.max_tokens, used, held_tokens * worse, need.tokens * worse),
            ("cost", self.limits.max_cost, self.cost, held_cost * worse, need.cost * worse),
        ]
        for name, most, spent, held, more in ends:
            if most is None or spent + held + more <= most * (1 + 1e-12):
                continue
            if held and spent + more <= most:
                return "wait"
            what = "in cost" if name == "cost" else name
            return f"the budget of {most:,.10g} {what} is used: {spent:,.10g} so far, and the next call may need {more:,.10g}"
        self.calls += 1
        self._number += 1
        self._held[self._number] = need
        return self._number

    def settle(self, number: int, usage: Usage, price: Price | None) -> None:
        """Book what a call really used."""
        need = self._held.pop(number, None)
        self._worse = max(self._worse, (usage.prompt + usage.completion) / need.tokens) if need is not None and need.tokens else self._worse
        self.usage += usage
        self.cost += cost_of(usage, price) or 0.0


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """What tokens cost; None where no price is named."""
    return None if price is None else (usage.prompt * price.input + usage.completion * price.output) / 1e6


def need_of(ask: Ask, price: Price | None) -> Need:
    """What a call may use at most, by the length of its text, its images, and the limit of its answer."""
    prompt = prompt_tokens(*_size(ask))
    return Need(prompt + ask.max_tokens, cost_of(Usage(prompt, ask.max_tokens), price) or 0.0)


def prompt_tokens(characters: int, images: int) -> int:
    """Rough number of tokens of a prompt."""
    return -(-characters // CHARACTERS_PER_TOKEN) + images * IMAGE_TOKENS


def size_of(text: str) -> int:
    """Length of a text as its number of tokens goes by it: characters beyond ASCII count fourfold, for many are a token each."""
    return len(text) if text.isascii() else sum(1 if c < "\x80" else CHARACTERS_PER_TOKEN for c in text)


def _size(ask: Ask) -> tuple[int, int]:
    """Characters and images of a request."""
    characters = images = 0
    for message in ask.messages:
        content: Any = message.get("content") or ""
        parts: Sequence[Any] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            images += part.get("type") == "image_url"
            characters += size_of(part.get("text", ""))
    return characters, images

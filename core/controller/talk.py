"""One conversation with a planning model: its budget, and the record of every call with what was made of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from core.errors import Problem
from core.llm import Ask, Client, ModelError, Reply, Retry, Usage, with_retries
from core.llm.parsing import clean

TOKENS = 1_200
"""Limit of an answer; four times as many after one that was cut off while it still reasoned."""
MOST_TOKENS = 8_192


@dataclass(frozen=True)
class Budget:
    """What a plan may cost before the offline controller takes over.

    Attributes:
        turns: Calls of the model.
        repairs: Times that a bad answer is sent back before it counts as final.
        tokens: Of all calls, sent and received.
        seconds: From the first call.
        attempts: Tries of one call, where trying again can help.
    """

    turns: int = 24
    repairs: int = 2
    tokens: int = 80_000
    seconds: float = 180.0
    attempts: int = 4


class GiveUpError(Exception):
    """No plan comes of this conversation; the text says why, for the user."""


@dataclass
class Talk:
    """A conversation.

    Attributes:
        client: Endpoint that is asked.
        budget: What it may cost.
        calls: JSON-ready, in order: what was sent anew (tools and schema where they changed), what came back, the verdict on it.
        usage: Of all calls so far.
    """

    client: Client
    budget: Budget
    calls: list[dict[str, object]] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    _start: float = field(default_factory=time.monotonic)
    _limit: int = TOKENS
    _sent: int = 0
    _more: dict[str, Any] = field(default_factory=dict)

    def begin(self) -> None:
        """Messages of the next call belong to a new conversation."""
        self._sent = 0

    def ask(self, messages: Sequence[Mapping[str, Any]], purpose: str, on_text: Callable[[str], None] | None = None, **more: Any) -> Reply:
        """One call, tried again where that can help, and recorded.

        Raises:
            GiveUpError: The budget is used up.
            ModelError: No answer.
        """
        left = self.budget.seconds - (time.monotonic() - self._start)
        self._check(left)
        entry: dict[str, object] = {"call": len(self.calls) + 1, "purpose": purpose, "sent": clean(messages[self._sent :])}
        asked = Ask(messages, self._limit, **more)
        entry["with"] = {"max_tokens": asked.max_tokens, "temperature": asked.temperature, "seed": asked.seed}
        if more != self._more:  # tools or schema: once, as they are the same in most calls
            entry |= clean(more)
            self._more = more
        waits: list[dict[str, object]] = []
        self.calls.append(entry)
        policy = Retry(attempts=self.budget.attempts, total=left, longest=left)
        end = time.monotonic() + left

        def once() -> Reply:
            return self.client.chat(replace(asked, timeout=max(end - time.monotonic(), 0.01)), on_text)

        try:
            reply = with_retries(once, policy, on_wait=lambda e, s: waits.append({"kind": e.kind, "seconds": round(s, 2)}))
        except ModelError as e:
            entry |= {"error": {"kind": e.kind, "status": e.status, "message": str(e)}, "verdict": ["no answer"]}
            raise
        finally:
            if waits:
                entry["waits"] = waits
        self._sent = len(messages)
        self.usage += reply.usage
        if reply.cut and (reply.reasoning or not reply.text):  # else it is no lack of room, but an answer without an end
            self._limit = min(4 * self._limit, MOST_TOKENS)
        entry |= {
            "answer": reply.raw,
            "usage": asdict(reply.usage),
            "seconds": round(reply.seconds, 3),
            "adapted": list(reply.adapted),
        }
        return reply

    def spare(self, seconds: float) -> None:
        """Leave out of the time of the budget what the operators took."""
        self._start += seconds

    def verdict(self, problems: Sequence[Problem] | Sequence[str] = ()) -> None:
        """What was made of the last answer: nothing wrong, or what was."""
        found = [*(self.calls[-1].get("verdict") or []), *map(str, problems)]  # type: ignore[misc]
        self.calls[-1]["verdict"] = [v for v in found if v != "ok" or len(found) == 1] or ["ok"]

    def _check(self, left: float) -> None:
        if left <= 0:
            raise GiveUpError(f"The model needed more than {self.budget.seconds:g} seconds.")
        if len(self.calls) >= self.budget.turns:
            raise GiveUpError(f"The model needed more than {self.budget.turns} calls.")
        if (used := self.usage.prompt + self.usage.completion) >= self.budget.tokens:
            raise GiveUpError(f"The model used {used:,} of {self.budget.tokens:,} tokens without a plan.")

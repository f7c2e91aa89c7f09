"""Whether found hypotheses mean known slices, by the word of a language model: for precision and recall of hypotheses (GH-ESD, 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.error_slices.generate.asking import Asked, JsonAsk, ask_all, closed, list_of, needs_list, number_of
from core.error_slices.precision import Relevance, hypothesis_relevance
from core.error_slices.vision.ask import quotable
from core.error_slices.vision.prompts import slice_texts
from core.llm import Ask, Endpoint
from core.llm.pace import Limits
from core.storage.store import Store

TOKENS = 2_000


@dataclass(frozen=True)
class JudgedRelevance:
    """What a judge said.

    Attributes:
        means: For each found statement the known slices that it means, by index; None where the judge gave no answer that can be read.
        why: Reason of those, "" elsewhere.
        known: Number of known slices.
        asked: Calls, tokens and cost.
    """

    means: tuple[frozenset[int] | None, ...]
    why: tuple[str, ...]
    known: int
    asked: Asked

    @property
    def unread(self) -> int:
        """Statements that the judge did not judge; they count neither way."""
        return sum(m is None for m in self.means)

    @property
    def relevance(self) -> Relevance:
        """Precision, recall and F1 over the statements that were judged."""
        judged = [m for m in self.means if m is not None]
        met = frozenset[int]().union(*judged)
        return hypothesis_relevance([bool(m) for m in judged], [i in met for i in range(self.known)])


def judge_relevance(
    store: Store,
    endpoint: Endpoint,
    found: Sequence[str],
    known: Sequence[str],
    *,
    limits: Limits | None = None,
    cancel: Callable[[], bool] | None = None,
) -> JudgedRelevance:
    """Ask a language model for each found statement which known slices it means; it sees neither scores nor verdicts.

    Args:
        store: Keeps the answers.
        endpoint: The judge; best not the model that wrote the statements.
        found: Statements of hypotheses.
        known: Descriptions of known slices.
        limits: Pace and budget.
        cancel: Asked now and then; True stops.
    """
    asks = [JsonAsk("slice_relevance", _ask(text, known), check=needs_list("means")) for text in found]
    asked = ask_all(store, endpoint, asks, limits=limits, cancel=cancel)
    means = tuple(None if a is None else _numbers(list_of(a, "means"), len(known)) for a in asked.answers)
    return JudgedRelevance(means, asked.why, len(known), asked)


def _numbers(entries: Sequence[object], known: int) -> frozenset[int]:
    """Indices of the numbers that are those of known slices."""
    return frozenset(n - 1 for e in entries if (n := number_of(e)) is not None and 1 <= n <= known)


def _ask(text: str, known: Sequence[str]) -> Ask:
    texts = slice_texts().relevance
    listed = "\n".join(f"{i}. {quotable(k)}" for i, k in enumerate(known, 1))
    words = texts.task.format(found=quotable(text), known=listed)
    schema = closed({"means": {"type": "array", "items": {"type": "integer"}}})
    return Ask([{"role": "system", "content": texts.system}, {"role": "user", "content": words}], TOKENS, schema=("relevance", schema))

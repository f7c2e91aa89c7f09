"""Hypotheses that say the same, before scoring by their words and after it by what they find."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.error_slices.detections import FloatArray
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.ties import best_first
from core.error_slices.verification.spearman import rank_correlation

Embed = Callable[[Sequence[str]], FloatArray]
"""Texts to vectors, shape (texts, dimensions)."""
_EMPTY_WORDS = frozenset("a an the is are was were be of to in on at by or and that which its it this there so with from".split())
_NOT = frozenset("not no without never neither nothing hardly barely".split())
"""Words that turn a statement round: one that has them says the contrary of one that does not."""


@dataclass(frozen=True)
class Twins:
    """Two hypotheses of one type of error that say nearly the same.

    Attributes:
        first: Id of the one that came first.
        second: Id of the other.
        words: Share of words that both have.
        meaning: Cosine of their embeddings, None without an encoder.
    """

    first: str
    second: str
    words: float
    meaning: float | None = None


def tokens(text: str) -> frozenset[str]:
    """Words of a text as they are compared: without case, signs, plural s and words that say nothing."""
    words = re.findall(r"[a-z0-9]+", text.casefold())
    return frozenset(w[:-1] if len(w) > 3 and w.endswith("s") and not w.endswith("ss") else w for w in words if w not in _EMPTY_WORDS)


def near_duplicates(
    hypotheses: Sequence[Hypothesis], embed: Embed | None = None, *, least_words: float = 0.8, least_meaning: float = 0.9
) -> tuple[Twins, ...]:
    """Pairs of hypotheses that say nearly the same, to be merged by a person; the most alike first.

    Only hypotheses of one type of error are compared, and only if they share a class or one is about any, and if both or neither say not.

    Args:
        hypotheses: In order of preference.
        embed: Encoder of texts; without it only words are compared.
        least_words: Share of common words (Jaccard) above which two are alike.
        least_meaning: Cosine above which two are alike.
    """
    words = [tokens(h.text) for h in hypotheses]
    vectors = None
    if embed is not None and hypotheses:
        vectors = np.asarray(embed([h.text for h in hypotheses]), np.float64)
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    out = []
    for j, b in enumerate(hypotheses):
        for i, a in enumerate(hypotheses[:j]):
            if a.error != b.error or not ("any" in (*a.classes, *b.classes) or set(a.classes) & set(b.classes)):
                continue
            if words[i] & _NOT != words[j] & _NOT:
                continue
            union = words[i] | words[j]
            common = len(words[i] & words[j]) / len(union) if union else float(a.text == b.text)
            cosine = None if vectors is None else float(vectors[i] @ vectors[j])
            if common > least_words or (cosine is not None and cosine > least_meaning):
                out.append(Twins(a.id, b.id, common, cosine))
    return tuple(sorted(out, key=lambda t: (-max(t.words, t.meaning or 0), t.first, t.second)))


def without_duplicates(
    new: Sequence[Hypothesis], known: Sequence[Hypothesis], embed: Embed | None = None
) -> tuple[tuple[Hypothesis, ...], tuple[Twins, ...]]:
    """New hypotheses that say something new, and the pairs for which the others were left out."""
    pairs = near_duplicates([*known, *new], embed)
    mine = {h.id for h in new}
    dropped: set[str] = set()
    why = []
    for pair in pairs:
        if pair.second in mine and pair.second not in dropped and pair.first not in dropped:
            dropped.add(pair.second)
            why.append(pair)
    return tuple(h for h in new if h.id not in dropped), tuple(why)


def spearman(a: FloatArray, b: FloatArray) -> float:
    """Rank correlation of two columns over the rows that both know, 0 if there are fewer than 3 or one is constant."""
    both = ~(np.isnan(a) | np.isnan(b))
    return rank_correlation(a[both], b[both]) if both.sum() >= 3 else 0.0


def top(scores: FloatArray, k: int) -> frozenset[int]:
    """Rows of the k highest scores."""
    return frozenset(best_first(np.flatnonzero(~np.isnan(scores)), scores)[:k].tolist())


def slice_groups(
    hypotheses: Sequence[Hypothesis],
    logits: Mapping[str, FloatArray],
    *,
    least_correlation: float = 0.9,
    least_overlap: float = 0.5,
    k: int = 50,
) -> dict[str, str]:
    """The leader of each hypothesis: hypotheses that rank the same units alike are one slice, shown once.

    Two are alike if their type of error is the same, |Spearman| of their scores exceeds `least_correlation` and more than
    `least_overlap` (Jaccard) of their k highest units are common. A hypothesis joins the first leader that it is like; two members need
    not be like each other. Tests are corrected over all hypotheses, whatever the groups.

    Args:
        hypotheses: Best first; leaders come before their members.
        logits: By id: a score for each unit of the side, NaN where there is none, shape (units,). Those of one type of error have one
            length. A hypothesis that is not here leads itself.
        least_correlation: See above.
        least_overlap: See above.
        k: See above.
    """
    best = {h.id: top(logits[h.id], k) for h in hypotheses if h.id in logits}
    leaders: list[Hypothesis] = []
    out: dict[str, str] = {}
    for h in hypotheses:
        mine = best.get(h.id, frozenset())
        for leader in leaders:
            theirs = best.get(leader.id, frozenset())
            if h.error != leader.error or not mine or len(mine & theirs) <= least_overlap * len(mine | theirs):
                continue
            if abs(spearman(logits[h.id], logits[leader.id])) > least_correlation:
                out[h.id] = leader.id
                break
        else:
            leaders.append(h)
            out[h.id] = h.id
    return out

"""The finding of the page Compare methods says no more, and no less, than the figures."""

from __future__ import annotations

from types import SimpleNamespace

from pages.shared.benchmark_parts import headline


def test_the_headline_does_not_overlook_a_method_that_is_clearly_better() -> None:
    """The lowest regret can be unsure, and the next one sure, of being below that of SliceScorer."""

    def row(method: str, label: str, regret: float, high: float | None) -> SimpleNamespace:
        low = None if high is None else regret - 0.9
        return SimpleNamespace(
            method=method, label=label, k=5, saturated=False, regret=regret, ild=0.5, difference_low=low, difference_high=high
        )

    reference, unsure = row("slicescorer", "SliceScorer", 0.5, None), row("knn", "kNN", 0.2, 0.1)
    result = lambda *rows: SimpleNamespace(comparison=SimpleNamespace(rows=rows))  # noqa: E731
    text = str(headline(result(reference, unsure, row("ridge", "Ridge", 0.3, -0.1)), 5))
    assert "Ridge is clearly better than SliceScorer; the lowest regret is" in text and "(kNN), but less surely so" in text
    assert "no method is clearly better than SliceScorer" in str(headline(result(reference, unsure), 5))

"""What a language model is told of a step, and what the files of a ranking hold."""

from __future__ import annotations

import re

from core.controller import InOdd, OutOfOdd, Triage
from core.controller.ranked import run_rank, run_triage, summary


def test_a_model_is_told_no_score_and_no_error(context):
    steps = [Triage(), InOdd(where={"time": ["night"]}), OutOfOdd(extend={"environment": ["tunnel"]}, where={"environment": ["tunnel"]})]
    for step in steps:
        result = run_triage(context, step) if isinstance(step, Triage) else run_rank(context, step)
        text = summary(step, result)
        assert len(text.splitlines()) == 6
        assert not re.search(r"%|\d\.\d|phi|error", text)

"""Analysis 4 against stubs: the 15 questions, ten runs each, on the demo table. No model is run; tests/stub_planner.py says what they play.

Target: mean pairwise Jaccard of at least 0.957 (the paper's) for a planner that varies order, aliases and wording only.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

RUNS = 10
TARGET = 0.957


def main() -> None:
    """Prints a line per controller."""
    from core import operators
    from core.controller import TOP, Context
    from core.controller.questions import study_questions
    from core.controller.stability import study
    from core.llm import Profile
    from core.settings import Settings
    from core.storage import open_store
    from tests.stub_llm import StubServer
    from tests.stub_planner import drawing, shuffling

    with tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), database_url=f"sqlite:///{home}/oddyssey.db")
        store = open_store(settings)
        table = operators.load_demo(store)[0]
        ctx = Context(store.tables.load(table.id), {}, settings, store, table=table)
        odd = ctx.seed.odd
        played = [
            ("offline", "none", "no model", ()),
            ("llm", "plan", "varies order, aliases, wording", shuffling(odd)),
            ("llm", "tools", "varies order, aliases, wording", shuffling(odd)),
            ("llm", "plan", "and chooses differently in one answer of ten", shuffling(odd, waver=0.1)),
            ("choose-slices", "none", "random rows", drawing(odd, TOP)),
        ]
        for kind, mode, what, script in played:
            start, said = time.perf_counter(), set()

            def play(request, script=script, said=said):
                answer = script(request)
                said.add(str(answer.body["choices"]))
                return answer

            with StubServer(play) as stub:
                endpoints = {"llm": stub.endpoint(profile=Profile(mode=mode, timeout=10.0))}
                found = study(replace(ctx, endpoints=endpoints), kind, study_questions(), RUNS)
            data = found.as_dict()
            print(
                f"{kind} ({mode}: {what}): Jaccard {found.jaccard:.3f}, size variation {found.size_variation:.3f}, {data['status']}, "
                f"{len(said)} answers, {sum(a.plans for a in found.answers)} plans for 15 questions, "
                f"{data['requested']:,} slices requested, {data['returned']:,} returned, "
                f"{data['rows']}, {time.perf_counter() - start:.0f} s"
            )
            assert kind != "llm" or "chooses" in what or found.jaccard >= TARGET
        store.close()


if __name__ == "__main__":
    main()

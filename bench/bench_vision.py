"""Matching by a vision model: what the plan, a call with its two pictures, and an answer that is known cost on this side.

The demo's pictures; a stub in a process of its own plays the model and answers after 50 ms, eight calls in flight.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

DELAY = 0.05
IN_FLIGHT = 8
REPEATS = 2


def cpu() -> float:
    """Seconds of CPU of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def ours(url: str, folder: Path) -> tuple[float, int, float, float, float, int]:
    """Of one empty workspace: CPU seconds and calls of the plan; CPU ms a call, calls a second, CPU ms a known answer; calls."""
    from core.error_slices.matching import make_units
    from core.error_slices.vision.cost import plan_match
    from core.error_slices.vision.match_vision import match_with_model
    from core.error_slices.vision.options import MatchOptions
    from core.llm import Endpoint
    from core.llm.pace import Limits
    from core.operators.slice_report import SliceSettings
    from core.operators.slices import library, load_demo, open_detections, population_of
    from core.settings import Settings
    from core.storage import open_store

    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(folder)}))
    units = make_units(open_detections(store, load_demo(store).id))
    populations = {h.id: population_of(units, h, SliceSettings()) for h in library()}
    endpoint = Endpoint(url, "stub-model")
    start = cpu()
    plan = plan_match(store, endpoint, units, library(), populations, MatchOptions(most_errors=None, most_correct=None))
    planned = cpu() - start
    asked = [h for h in library() if h.offline is None][:2]
    options = MatchOptions(limits=Limits(start=IN_FLIGHT, most=IN_FLIGHT))
    spent, took, calls = [], [], 0
    for _ in range(2):
        start, since = cpu(), time.perf_counter()
        out = match_with_model(store, endpoint, units, asked, populations, options=options)
        spent.append(cpu() - start)
        took.append(time.perf_counter() - since)
        calls = max(calls, out.calls["new"])
    store.close()
    return planned, plan.calls, spent[0] / calls * 1_000, calls / took[0], spent[1] / calls * 1_000, calls


def main() -> None:
    """Prints the best of some runs."""
    command = [sys.executable, "-m", "tests.stub_llm", "--delay", str(DELAY), "--yes"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        runs = []
        for _ in range(REPEATS):
            with tempfile.TemporaryDirectory() as folder:
                runs.append(ours(url, Path(folder)))
    finally:
        server.terminate()
        server.wait()
    planned, calls, a_call, rate, known, sent = min(runs, key=lambda r: r[2])
    print(f"Matching by a vision model, a stub that answers after {DELAY * 1000:.0f} ms, {IN_FLIGHT} calls in flight, best of {REPEATS}:")
    print(f"  plan of all {calls:,} questions of the demo   {planned:.1f} CPU s")
    paced = f"{a_call:.1f} ms CPU a call, {rate:.0f} calls/s of {IN_FLIGHT / DELAY:.0f} by the delay"
    print(f"  {sent:,} calls with two pictures each         {paced}")
    print(f"  the same again, all answers known            {known:.2f} ms CPU an answer")


if __name__ == "__main__":
    main()

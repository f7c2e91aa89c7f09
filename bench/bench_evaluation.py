"""Evaluations through the client against a server that answers after 50 ms, in a process of its own; every call is kept before and after.

Target: at least 300 calls a second. The server's limit is what a bare HTTP client reaches with as many requests in flight.
"""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

DELAY = 0.05
IN_FLIGHT = 64
CALLS = 3_000
REPEATS = 3
TARGET = 300
FRAMES = 100


async def bare(url: str, calls: int) -> float:
    """Calls a second of an HTTP client that does nothing else."""
    import aiohttp

    body = {"model": "m", "messages": [{"role": "user", "content": "Question"}], "max_tokens": 8}
    todo = iter(range(calls))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=IN_FLIGHT)) as session:

        async def work() -> None:
            for _ in todo:
                async with session.post(f"{url}/chat/completions", json=body) as answer:
                    json.loads(await answer.read())

        start = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
        return calls / (time.perf_counter() - start)


def ours(url: str, calls: int, folder: Path, images: bool) -> tuple[float, float, float]:
    """Calls a second of an evaluation, milliseconds of CPU a call, and calls a second when all answers are there already."""
    from core.evaluation import Item, Limits
    from core.llm import Endpoint
    from core.operators import evaluate
    from core.settings import Settings
    from core.storage import open_store

    frames = draw(folder) if images else []
    slice_ = {"weather": "rain", "time": "night"}
    items = [
        Item(f"i{k}", (frames[k % len(frames)],) if frames else (), f"Question {k}?", ("Go", "Stop"), "B", "MCQ", slice_, slice_, "valid")
        for k in range(calls)
    ]
    store = open_store(Settings.from_environment({"ODDYSSEY_HOME": str(folder / "home")}))
    limits = Limits(start=IN_FLIGHT, most=IN_FLIGHT)
    rates, cpu = list[float](), list[float]()
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF)
        start = time.perf_counter()
        run = evaluate(store, items, Endpoint(url, "stub-model"), None, run_id="bench", limits=limits)
        rates.append(calls / (time.perf_counter() - start))
        after = resource.getrusage(resource.RUSAGE_SELF)
        assert run.counts["scored"] == calls, run.counts
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert run.counts["calls"] == 0
    store.close()
    return rates[0], cpu[0] / calls * 1_000, rates[1]


def draw(folder: Path) -> list[str]:
    """Frames of 1,600 x 900 px as a camera gives them in size: about 150 kB each."""
    from PIL import Image

    out = []
    for k in range(FRAMES):
        scene = Image.linear_gradient("L").rotate(90 * (k % 4)).resize((1_600, 900)).convert("RGB")
        noise = Image.effect_noise((400, 225), 60 + k % 8).resize((1_600, 900)).convert("RGB")
        out.append(str(folder / f"frame{k}.jpg"))
        Image.blend(scene, noise, 0.5).save(out[-1], quality=88)
    return out


def main() -> None:
    """Prints the rates and the ratio to the limit of the server."""
    command = [sys.executable, "-m", "tests.stub_llm", "--delay", str(DELAY), "--text", "B"]
    server = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        asyncio.run(bare(url, 500))
        limit = max(asyncio.run(bare(url, CALLS)) for _ in range(REPEATS))
        found = []
        for images, calls in ((False, CALLS), (True, CALLS // 10)):
            runs = []
            for _ in range(REPEATS):
                with tempfile.TemporaryDirectory() as folder:
                    runs.append(ours(url, calls, Path(folder), images))
            found.append(max(runs))
    finally:
        server.terminate()
        server.wait()
    print(f"Evaluation against a server that answers after {DELAY * 1000:.0f} ms, {IN_FLIGHT} calls in flight, best of {REPEATS}")
    print(f"(target: {TARGET} calls/s; a stub plays the model, client and server share this machine):")
    print(f"  bare HTTP client, the server's limit   {limit:6,.0f} calls/s ({IN_FLIGHT / DELAY:,.0f} by its delay alone)")
    for name, (rate, cpu, again) in zip(("questions without images", "with one of 100 frames of 1600 x 900"), found, strict=True):
        print(f"  {name:38s} {rate:6,.0f} calls/s, {rate / limit:.2f} of the limit, {cpu:.2f} ms CPU a call; from the cache {again:,.0f}/s")


if __name__ == "__main__":
    main()

"""A million sample rows: opened, checked and aggregated, beside pandas.read_csv and a groupby, each in a fresh process.

Targets: at most 6 s, at most 4 times the file in memory, at most 1.5 times the time of pandas.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROWS = 1_000_000
DIMS = ["weather_visibility", "time", "road_condition", "road_type", "traffic_type"]
REPEATS = 5


def write(path: Path) -> None:
    """Writes a seeded table of the built-in ODD: about 100 MB, with an id and a free text as real ones have."""
    import numpy as np

    sys.path.insert(0, str(ROOT))
    from core.odd import built_in

    rng = np.random.default_rng(7)
    odd = built_in()
    columns = [np.array([v.name for v in odd.by_name[d].base])[rng.integers(0, len(odd.by_name[d].base), ROWS)] for d in DIMS]
    scores = rng.integers(0, 1001, ROWS) / 1000
    with path.open("w") as f:
        f.write(",".join(["sample_id", *DIMS, "score", "frame"]) + "\n")
        for start in range(0, ROWS, 50_000):
            part = slice(start, start + 50_000)
            cells = zip(*(c[part].tolist() for c in columns), scores[part].tolist(), strict=True)
            f.writelines(
                f"s{i:07d},{','.join(map(str, row))},samples/CAM_FRONT/n{i % 850:04d}__{i * 7919 % 10**9:09d}.jpg\n"
                for i, row in enumerate(cells, start)
            )


def ours(path: Path, **said: str) -> int:
    """Open, check and aggregate; the number of slices."""
    from core.odd import built_in
    from core.operators import check, open_table, prepare

    report = check(prepare(open_table(path), built_in(), dims=DIMS, overrides={"score": "score", **said}))
    assert report.accepted == ROWS
    return len(report.seed.n)


def ours_without_ids(path: Path) -> int:
    """The same without looking for ids that stand there twice, which a groupby does not do either."""
    return ours(path, sample_column="-")


def theirs(path: Path) -> int:
    """What one would write by hand: read the file, group, count and average; the number of slices."""
    import pandas as pd

    table = pd.read_csv(path)
    return len(table.groupby(DIMS)["score"].agg(["size", "mean", "var"]))


SIDES = {"pandas read_csv + groupby": theirs, "open + check + aggregate": ours, "the same, ids unchecked": ours_without_ids}


def measure(name: str, path: Path) -> None:
    """Runs one side after its imports and the built-in ODD are loaded; prints seconds, memory above the start, and slices."""
    import pandas  # noqa: F401 (pyarrow imports it too, at the first scalar)

    if SIDES[name] is not theirs:
        sys.path.insert(0, str(ROOT))
        import core.odd
        import core.operators

        core.odd.built_in()
    before = _peak()
    start = time.perf_counter()
    slices = SIDES[name](path)
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, "memory": _peak() - before, "slices": slices}))


def _peak() -> int:
    """Bytes in memory at most so far, pages of the mapped file included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Generates the table and prints both sides and their ratios."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "samples.csv"
        write(path)
        size = path.stat().st_size
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in SIDES}
        for _ in range(REPEATS):
            for name in SIDES:
                run = subprocess.run([sys.executable, __file__, name, str(path)], capture_output=True, text=True, check=True, cwd=ROOT)
                runs[name].append(json.loads(run.stdout.splitlines()[-1]))
    slices = {r["slices"] for found in runs.values() for r in found}
    assert len(slices) == 1
    print(f"Seed table of {ROWS:,} rows, {size / 1e6:.0f} MB, {slices.pop():,} slices; best of {REPEATS} fresh processes each")
    print("(targets: 6 s, 4.0 x the file in memory, 1.5 x the time of pandas):")
    reference = min(r["seconds"] for r in runs["pandas read_csv + groupby"])
    for name, found in runs.items():
        seconds, memory = min(r["seconds"] for r in found), max(r["memory"] for r in found) / size
        print(f"  {name:26s} {seconds:.2f} s, {seconds / reference:.2f} x pandas, peak memory {memory:.2f} x the file")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], Path(sys.argv[2]))
    else:
        main()

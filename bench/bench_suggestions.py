"""Words that are in no phrase of the built-in ODD: what the matcher by words makes of them, and what the text encoder suggests.

The list was written before any result was seen; the thresholds of core/controller/suggest.py were then chosen on it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

CASES = [
    ("monsoon", "rain_heavy rainy"),
    ("boulevards", "city_downtown city_suburbs"),
    ("twilit", "dawn dusk"),
    ("gloaming hours", "dusk"),
    ("soggy tarmac", "puddles wet"),
    ("rail level intersections", "railway_crossing"),
    ("lorry spray", "spray"),
    ("joggers", "pedestrians"),
    ("schoolkids", "pedestrians school_zone"),
    ("strollers", "pedestrians"),
    ("horses", "animals"),
    ("squad cars", "emergency_vehicles"),
    ("bush fire", "smoke"),
    ("misty moors", "mist"),
    ("arctic", "icy snow snowy"),
    ("black of night", "night"),
    ("cobblestones", ""),
    ("lidar", ""),
    ("electric scooters", "cyclists"),
    ("bike couriers", "cyclists"),
    ("overtaking", ""),
    ("ferry terminal", ""),
    ("sundown", "dusk"),
    ("sleepy hamlets", "city_suburbs rural_road"),
    ("gridlocked", "traffic_jam"),
    ("hairpin", "mountain_road sharp_curve"),
    ("serpentines", "sharp_curve"),
    ("carpark", "parking_lot"),
    ("multistory garage", "parking_lot"),
    ("torrent", "rain_heavy"),
    ("inundated lanes", "flooded"),
    ("slippery", "icy wet"),
    ("bad visibility", "fog_dense foggy"),
    ("dazzle", "headlight_glare sun_glare"),
    ("oncoming lamps", "headlight_glare"),
    ("grey skies", "cloudy overcast"),
    ("potholed", "damaged_surface"),
    ("gravel track", "muddy rural_road"),
    ("border crossing", "toll_plaza"),
    ("budget", ""),
    ("quarterly report", ""),
    ("left turns", ""),
    ("jam-packed", "dense traffic_jam"),
    ("quiet", "sparse"),
]
"""What a question names, and the values that would be right; none for what the ODD does not have."""


def main() -> None:
    """Prints how many of the words are matched, and how many suggestions are shown and right at each threshold."""
    from core.controller import suggest
    from core.controller.offline import plan_offline
    from core.odd import built_in
    from core.settings import Settings

    suggest.SHOWN, suggest.APPLIED = -1.0, 2.0
    with tempfile.TemporaryDirectory() as home:
        settings = Settings(Path(home), "sqlite://")
        found = [(plan_offline(f"{word} scenarios we are missing", built_in(), settings), set(right.split())) for word, right in CASES]
    by_words = [({r.value for r in p.readings}, right) for p, right in found if p.readings]
    print(f"{len(CASES)} words; {len(by_words)} matched by words, {sum(bool(got & right) for got, right in by_words)} of them rightly")
    rest = [(max(p.suggestions, key=lambda s: s.similarity, default=None), right) for p, right in found if not p.readings]
    print(f"{len(rest)} left for the encoder, {sum(bool(right) for _, right in rest)} of them with a right answer")
    for least in (0.5, 0.55, 0.6, 0.7, 0.8):
        shown = [(s, right) for s, right in rest if s is not None and s.similarity >= least]
        print(f"  cosine >= {least:.2f}: {len(shown)} shown, {sum(s.value in right for s, right in shown)} right")


if __name__ == "__main__":
    main()

"""Draws the demo footage and writes its manifest. No camera, no generative model: a program draws every picture, and says so in it.

The pictures cover part of the top gaps of the demo tables, foggy highways, nights, construction zones, tunnels, dawn and dusk, and a
mixture. Tags and questions are flawed on purpose, as those of real footage are: some tags are missing, name several values, use
other words, or are wrong; some questions have no category. The captions tell what was drawn.

    python assets/demo/make_footage.py [FOLDER]
"""

from __future__ import annotations

import csv
import hashlib
import io
import random
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from scene import Values, draw

DIMS = ("weather_visibility", "sky_conditions", "time", "environment", "road_condition", "road_type", "traffic_type")
HEADER = (
    *("id", "path", "caption", "dataset", "split", "licence", "group", "synthetic", "sha256", *DIMS, "road_users_present"),
    *("question_category", "question", "options", "answer", "qa_type"),
)
LICENCE = "AGPL-3.0-or-later"
QUALITY = 74

# A scene in short: weather, sky, time, environment, road, road type, traffic. Then clips, frames a clip, and what comes with it:
# "" a picture alone, a question category (MCQ), "+vqa" an open question, "?" a question without a category, "-dim" a missing tag.
SCENES = """
foggy cloudy night construction snow intersection dense          2 2
foggy clear night construction snow intersection dense           1 2 scene_observation
foggy cloudy night construction snow non_intersection dense      2 1
foggy clear night construction snow non_intersection dense       1 1 -road_condition
foggy clear night construction snow intersection sparse          1 2 ?
foggy cloudy night construction wet non_intersection dense       2 2 hazard_assessment
foggy cloudy night highway snow non_intersection dense           2 1
foggy cloudy night city_downtown snow intersection dense         1 2 hazard_assessment
foggy cloudy day construction snow intersection dense            1 1
foggy cloudy night construction wet intersection dense           1 2
snowy cloudy night construction snow intersection sparse         2 2
snowy clear night construction snow intersection dense           1 1 ego_action_reasoning
snowy cloudy night construction snow non_intersection sparse     1 1 counterfactual_reasoning
snowy cloudy night construction snow intersection dense          1 1 -traffic_type
foggy cloudy day highway dry non_intersection sparse             3 2 ?
foggy cloudy day highway dry non_intersection dense              2 2 ?+vqa
foggy cloudy day highway snow non_intersection dense             1 2
foggy cloudy night highway wet non_intersection dense            2 2
foggy clear day highway snow non_intersection dense              1 1 scene_observation
foggy cloudy night highway wet intersection dense                1 1 -road_type
rainy cloudy night city_suburbs wet intersection sparse          3 2 hazard_assessment
rainy cloudy night city_suburbs snow intersection sparse         1 2 hazard_assessment+vqa
clear cloudy night city_downtown snow intersection dense         2 1 ego_action_reasoning
clear clear night highway dry non_intersection sparse            2 1 counterfactual_reasoning
rainy cloudy night construction wet intersection dense           2 2
rainy clear night construction wet intersection dense            1 1 hazard_assessment
clear clear day construction dry non_intersection dense          2 2 ego_action_reasoning+vqa
clear clear dusk city_downtown dry intersection sparse           2 2
clear clear dusk city_downtown wet intersection sparse           1 2 scene_observation
clear clear dawn city_downtown dry non_intersection sparse       2 1
clear clear dawn city_downtown wet intersection sparse           1 1 ?
foggy cloudy dawn construction snow non_intersection dense       1 1
foggy cloudy dusk construction snow intersection dense           1 1 scene_observation
foggy cloudy dusk city_suburbs wet non_intersection sparse       1 2
foggy cloudy day tunnel dry non_intersection dense               2 1
foggy cloudy day tunnel wet non_intersection dense               1 2 hazard_assessment
foggy cloudy night tunnel wet non_intersection dense             1 1
foggy cloudy night tunnel wet intersection dense                 1 1 ?
clear clear day tunnel dry non_intersection sparse               1 2 scene_observation+vqa
"""
MIXTURE = 60
"""Further clips, drawn from what a test fleet meets often and seldom."""

SHARES: dict[str, dict[str, int]] = {
    "weather_visibility": {"clear": 50, "rainy": 26, "foggy": 12, "snowy": 12},
    "sky_conditions": {"clear": 50, "cloudy": 50},
    "time": {"day": 66, "night": 34},
    "environment": {"city_downtown": 34, "city_suburbs": 30, "highway": 22, "construction": 10, "rural_road": 4},
    "road_condition": {"dry": 60, "wet": 28, "snow": 12},
    "road_type": {"intersection": 48, "non_intersection": 52},
    "traffic_type": {"sparse": 54, "dense": 46},
}
SYNONYMS = {"rainy": "raining", "foggy": "fog", "snowy": "snowing", "sparse": "light traffic", "dense": "heavy traffic", "wet": "wet road"}
FINER = {
    "rainy": "rain_heavy",
    "foggy": "fog_dense",
    "snowy": "snow_light",
    "cloudy": "overcast",
    "intersection": "intersection_signalized",
}
SEVERAL = {
    "rainy": "rainy|foggy", "night": "dusk|night", "day": "day|dusk", "city_downtown": "city_downtown|city_suburbs", "wet": "wet|snow",
    "sparse": "sparse|dense",
}  # fmt: skip
STRANGE = {"environment": "underpass", "weather_visibility": "murky", "road_condition": "half dry", "time": "evening news"}
WRONG = {
    "cloudy": "clear",
    "wet": "dry",
    "dense": "sparse",
    "foggy": "clear",
    "highway": "city_suburbs",
    "non_intersection": "intersection",
}

WORDS = {
    "clear": "clear air", "rainy": "rain", "foggy": "fog", "snowy": "falling snow", "day": "by day", "night": "at night",
    "dawn": "at dawn", "dusk": "at dusk", "city_downtown": "downtown", "city_suburbs": "in the suburbs", "highway": "on a highway",
    "construction": "in a construction zone", "tunnel": "in a tunnel", "rural_road": "on a rural road", "dry": "dry road",
    "wet": "wet road", "snow": "snow on the road", "intersection": "at an intersection", "non_intersection": "away from intersections",
    "sparse": "few vehicles", "dense": "many vehicles",
}  # fmt: skip


def caption(v: Values) -> str:
    """What was drawn, in words."""
    sky = "cloudy sky" if v["sky_conditions"] == "cloudy" else "clear sky"
    parts = [WORDS[v[d]] for d in ("weather_visibility", "time", "environment", "road_condition", "road_type", "traffic_type")]
    return f"Drawn road scene: {parts[0]}, {sky}, {', '.join(parts[1:])}."


def multiple_choice(category: str, v: Values) -> tuple[str, list[str], int]:
    """Question, options and place of the right one, from what was drawn."""
    bad = v["weather_visibility"] != "clear" or v["road_condition"] != "dry"
    if category == "hazard_assessment":
        options = ["Nothing unusual", "A wet road", "Snow on the road", "Little visibility in fog"]
        road = {"dry": 0, "wet": 1, "snow": 2}[v["road_condition"]]
        worst = 3 if v["weather_visibility"] == "foggy" else road
        kept = [o for i, o in enumerate(options) if i == worst or i != road]  # in fog the road may be bad too
        return "What is the greatest danger to the vehicle here?", kept, kept.index(options[worst])
    if category == "ego_action_reasoning":
        options = ["Keep the speed", "Slow down and keep more distance", "Reverse", "Overtake on the shoulder"]
        red = v["road_type"] == "intersection"  # its lights are drawn red
        careful = bad or red or v["traffic_type"] == "dense" or v["environment"] == "construction"
        return "What should the driver do next?", options, int(careful)
    if category == "future_event_prediction":
        options = ["Vehicles ahead slow down", "The lane ahead stays free", "A train crosses"]
        return "What comes next?", options, 0 if v["traffic_type"] == "dense" else 1
    if category == "counterfactual_reasoning":
        options = ["Hardly anything could be seen", "Nearly everything could still be seen"]
        return "What if all lamps and headlights were off?", options, int(v["time"] in ("day", "dawn"))
    options = ["It is clear", "It rains", "There is fog", "It snows"]
    return "What is the weather like?", options, ["clear", "rainy", "foggy", "snowy"].index(v["weather_visibility"])


def open_question(category: str, v: Values) -> tuple[str, str]:
    """Question and answer, from what was drawn."""
    if category == "hazard_assessment":
        danger = {"dry": "nothing unusual", "wet": "the wet road", "snow": "the snow on the road"}[v["road_condition"]]
        return "Name the greatest danger.", f"It is {'the fog' if v['weather_visibility'] == 'foggy' else danger}."
    if category == "ego_action_reasoning":
        return "What should the driver do and why?", f"Drive with care: {WORDS[v['environment']]}, {WORDS[v['traffic_type']]}."
    light = WORDS[v["time"]]
    return "Tell the weather and the time of day.", f"{WORDS[v['weather_visibility']].capitalize()}, {light}."


FLAWS = ("none", "missing", "none", "several", "synonym", "missing", "none", "finer", "wrong", "strange")
"""Of the tags of the clips of the mixture, in turn."""


def flawed(v: Values, flaw: str, rng: random.Random) -> dict[str, str]:
    """The tags of a clip, as people might have given them."""
    tags, dims = dict(v), list(DIMS)
    rng.shuffle(dims)
    if flaw == "missing":
        return tags | dict.fromkeys(dims[: rng.choice((1, 1, 2))], "")
    if flaw == "strange":
        d = next(d for d in dims if d in STRANGE)
        return tags | {d: STRANGE[d]}
    table = {"several": SEVERAL, "synonym": SYNONYMS, "finer": FINER, "wrong": WRONG}.get(flaw, {})
    d = next((d for d in dims if tags[d] in table), "")
    return tags | ({d: table[tags[d]]} if d else {})


def rows() -> list[tuple[dict[str, str], dict[str, str], int, int]]:
    """What is drawn and what the manifest says, with the seed and the frame of each picture."""
    rng = random.Random(20261130)  # noqa: S311 (data for a demo, not for a lock)
    categories = ["scene_observation", "hazard_assessment", "ego_action_reasoning", "future_event_prediction", "counterfactual_reasoning"]
    clips: list[tuple[dict[str, str], int, str]] = []
    for line in SCENES.strip().splitlines():
        parts = line.split()
        clips += [(dict(zip(DIMS, parts[:7], strict=True)), int(parts[8]), "".join(parts[9:]))] * int(parts[7])
    for _ in range(MIXTURE):
        v = {d: rng.choices(list(s), weights=list(s.values()))[0] for d, s in SHARES.items()}
        ask = rng.choice(["", "", "?", "?+vqa", rng.choice(categories), rng.choice(categories[:3]) + "+vqa"])
        clips.append((v, rng.choice((1, 2)), "~" + ask))
    out = []
    for clip, (v, frames, says) in enumerate(clips, 1):
        mixed, says = says.startswith("~"), says.removeprefix("~")
        if mixed and v["environment"] == "city_downtown" and rng.random() < 0.6:
            v = v | {"road_users_present": "pedestrians"}
        tags = flawed(v, FLAWS[clip % len(FLAWS)], rng) if mixed else dict(v)
        if says.startswith("-"):
            tags[says[1:]] = ""
        for frame in range(frames):
            source = "dialogue" if "+vqa" in says else "highway" if v["environment"] in ("highway", "tunnel", "rural_road") else "city"
            row = tags | {"group": f"clip-{clip:03d}", "dataset": f"synthetic-{source}", "caption": caption(v)}
            if says and not says.startswith("-"):
                category = says.split("+")[0]
                row |= {"question_category": "" if category == "?" else category}
                category = rng.choice(categories[:3]) if category == "?" else category
                if "+vqa" in says:
                    row["question"], row["answer"] = open_question(category, v)
                    row["qa_type"] = "VQA"
                else:
                    row["question"], options, right = multiple_choice(category, v)
                    row |= {"options": " | ".join(options), "answer": "ABCD"[right], "qa_type": "MCQ"}
            out.append((v, row, clip, frame))
    return out


def main(folder: Path) -> None:
    """Draws all pictures and writes the manifest beside them."""
    images = folder / "images"
    shutil.rmtree(images, ignore_errors=True)
    images.mkdir(parents=True)
    with (folder / "manifest.csv").open("w", newline="", encoding="utf-8") as f:
        out = csv.DictWriter(f, HEADER, restval="", lineterminator="\n")
        out.writeheader()
        written: list[dict[str, str]] = []
        for i, (v, row, clip, frame) in enumerate(rows(), 1):
            data = io.BytesIO()
            draw(v, clip, frame).save(data, "JPEG", quality=QUALITY)
            name = f"images/{row['group']}-{frame + 1}.jpg"
            (folder / name).write_bytes(data.getvalue())
            fixed = {"id": f"demo-{i:04d}", "path": name, "split": "demo", "licence": LICENCE, "synthetic": "true"}
            written.append(row | fixed | {"sha256": hashlib.sha256(data.getvalue()).hexdigest()})
        copies = [written[k] | {"id": f"demo-{len(written) + 1 + n:04d}"} for n, k in enumerate((0, 40, 41))]  # as lists often have
        out.writerows([*written, *copies])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)

"""Small detection sets with real picture files, and a stub that answers like a vision model, for tests of matching by a model."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from PIL import Image as Pillow

from core.error_slices.detections import Boxes, ClassName, DetectionSet, Image
from core.error_slices.hypotheses import Hypothesis
from core.error_slices.matching import make_units
from core.error_slices.population import population
from core.error_slices.units import Population, Units
from core.error_slices.vision.match_vision import match_with_model
from core.error_slices.vision.options import MatchOptions
from core.error_slices.vision.outcome import MatchOutcome
from core.llm.pace import Limits
from tests.stub_llm import Answer, Request, completion, weighed

DARK = Hypothesis("dark", "The object is in deep shadow.", "FN", "intrinsic_difficulty")
BLUE = Hypothesis("blue", "The detected region is blue.", "FP", "semantic_confusion")
NIGHT = Hypothesis("night", "The picture was taken at night.", "IMAGE", "contextual_interference")
FAST = MatchOptions(limits=Limits(first_wait=0.01, longest_wait=0.02))
"""Options that do not wait between attempts."""
GREY = (40, 120, 200)
"""Greys of the objects of each picture, from left to right."""


def scene(folder: Path, images: int = 4) -> Units:
    """Pictures with three squares each, dark to bright; the dark ones are missed, and each picture has one false positive."""
    folder.mkdir(parents=True, exist_ok=True)
    found, truth, predicted = [], [], []
    for i in range(images):
        picture = Pillow.new("RGB", (160, 100), (90, 140, 90 + i))
        for k, grey in enumerate(GREY):
            box = (10 + 50 * k, 30 + i % 3, 40 + 50 * k, 60 + i % 3)
            picture.paste((grey, grey, grey), box)
            truth.append((i, box))
            if grey > 50:
                predicted.append((i, box, 0.9))
        predicted.append((i, (100, 70, 120, 90), 0.6))
        path = folder / f"{i}.png"
        picture.save(path)
        found.append(Image(str(i), path.name, 160, 100, path))
    return make_units(
        DetectionSet(
            name="scene",
            model="m",
            task="detection",
            classes=(ClassName("0", "car"),),
            images=tuple(found),
            truth=Boxes.of([i for i, _ in truth], [0] * len(truth), [b for _, b in truth]),
            predictions=Boxes.of(
                [i for i, _, _ in predicted], [0] * len(predicted), [b for _, b, _ in predicted], score=[s for _, _, s in predicted]
            ),
        )
    )


def populations(units: Units, *hypotheses: Hypothesis) -> dict[str, Population]:
    """Of each hypothesis."""
    return {h.id: population(units, h.error, None) for h in hypotheses}


def pictures_of(request: Request) -> list[Pillow.Image]:
    """The pictures that a request shows."""
    urls = [p["image_url"]["url"] for p in request.messages[-1]["content"] if p["type"] == "image_url"]
    return [Pillow.open(io.BytesIO(base64.b64decode(u.partition("base64,")[2]))).convert("RGB") for u in urls]


def red(request: Request) -> float | None:
    """Whether the plain picture of the probe is red, None for other requests."""
    if "red all over" not in request.last:
        return None
    r, _, b = np.asarray(pictures_of(request)[0]).reshape(-1, 3).mean(0)
    return 0.98 if r > b else 0.03


def darkness(request: Request) -> float:
    """How surely a model that sees well says yes: by the middle of the last picture."""
    picture = pictures_of(request)[-1]
    middle = np.asarray(picture.resize((9, 9))).reshape(9, 9, 3)[4, 4].mean()
    return float(1 / (1 + math.exp((middle - 80) / 20)))


def top_of(c: float, mass: float = 0.97) -> list[tuple[str, float]]:
    """A list of likeliest tokens in which yes has the share c."""
    pair = [("Yes", math.log(max(c, 1e-6) * mass)), ("No", math.log(max(1 - c, 1e-6) * mass))]
    pair.sort(key=lambda x: -x[1])
    return [*pair, ("The", math.log((1 - mass) / 2)), (" It", math.log((1 - mass) / 4))]


def seeing(answer: Callable[[float, Request], Answer]) -> Callable[[Request], Answer]:
    """A script that answers each question with its true share of yes."""

    def script(request: Request) -> Answer:
        c = red(request)
        return answer(darkness(request) if c is None else c, request)

    return script


def logprob(c: float, request: Request) -> Answer:
    """With log-probabilities, if they are asked for."""
    top = top_of(c)
    return weighed(top) if request.body.get("logprobs") else completion({"content": top[0][0]})


def words(c: float, request: Request) -> Answer:
    """Without log-probabilities; confident JSON where JSON is asked for; sampled by the seed of the request."""
    if "JSON" in request.last:
        sure = round(100 * max(c, 1 - c))
        return completion({"content": f'{{"answer": "{"yes" if c > 0.5 else "no"}", "confidence": {sure}}}'})
    draw = (request.body.get("seed", 0) + 0.5) / 8 if request.body.get("temperature") else 0.5
    return completion({"content": "Yes." if c > draw else "No."})


ABLE: Mapping[str, Callable[[Request], Answer]] = {"logprob": seeing(logprob), "words": seeing(words)}


def match(store, stub, units, *hypotheses, script=ABLE["logprob"], options=FAST, **more) -> MatchOutcome:
    """A run against the stub."""
    stub.script = script
    return match_with_model(store, stub.endpoint(), units, hypotheses, populations(units, *hypotheses), options=options, **more)

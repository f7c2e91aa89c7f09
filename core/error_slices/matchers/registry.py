"""The matchers that need no model: 24 of them, what each looks at, can be told, and cannot tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.digest import canonical_json
from core.error_slices.hypotheses import Hypothesis, OfflineMatcher
from core.error_slices.matchers import appearance, geometry, neighbours
from core.error_slices.matchers.features import PixelFeatures
from core.error_slices.matchers.scales import Matched
from core.error_slices.matchers.scene import Scene
from core.error_slices.units import SIDE_OF, ErrorType, Side, Visible
from core.error_slices.vocabulary import Vocabulary, load_vocabulary
from core.errors import InputError, Problem

VERSION = 2
"""Raised with every change of a score."""
Looks = Literal["box", "neighbours", "pixels"]
_BOXES: frozenset[Side] = frozenset(("gt", "pred"))
_REGIONS: frozenset[Side] = _BOXES | {"seg"}
_ALL: frozenset[Side] = _REGIONS | {"image"}


@dataclass(frozen=True)
class Param:
    """A parameter of a matcher.

    Attributes:
        kind: A number above 0, yes or no, or the name of a class or group, or several of them.
        default: Its value where none is given; None if one must be.
    """

    kind: Literal["number", "flag", "group"]
    default: Any = None


@dataclass(frozen=True)
class Matcher:
    """A matcher.

    Attributes:
        name: In files.
        says: What a high score says.
        cannot: What it cannot tell, "" for nothing special.
        looks: At what.
        sides: Units that it can score.
        score: The scores of the boxes of a scene.
        params: By name.
    """

    name: str
    says: str
    cannot: str
    looks: Looks
    sides: frozenset[Side]
    score: Callable[[Scene, Mapping[str, Any]], Matched]
    params: Mapping[str, Param] = field(default_factory=dict)

    def filled(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters with what was not given."""
        return {name: params.get(name, p.default) for name, p in self.params.items()}


def _number(value: float) -> Param:
    return Param("number", value)


_ALL_MATCHERS = (
    Matcher("small", "few pixels across", "distance", "box", _REGIONS, geometry.small, {"ref_px": _number(32)}),
    Matcher("large", "fills much of the image", "", "box", _REGIONS, geometry.large, {"rel": _number(0.6)}),
    Matcher(
        "far_horizon",
        "small and above the lower part of the image",
        "distance, where the camera is not level or does not look ahead",
        "box",
        _REGIONS,
        geometry.far_horizon,
        {"rel": _number(0.05), "above": _number(0.62)},
    ),
    Matcher(
        "truncated", "touches the border of the image", "how much is cut off, unless the data tells", "box", _REGIONS, geometry.truncated
    ),
    Matcher("near_edge", "ends near the border of the image", "", "box", _REGIONS, geometry.near_edge, {"rel": _number(0.02)}),
    Matcher(
        "aspect_outlier",
        "unusual shape for its class",
        "pose; needs 8 whole boxes of the class",
        "box",
        _BOXES,
        geometry.aspect_outlier,
        {"deviations": _number(2)},
    ),
    Matcher(
        "narrow_for_class",
        "narrow for its class",
        "pose; needs 8 whole boxes of the class",
        "box",
        _BOXES,
        geometry.narrow_for_class,
        {"deviations": _number(1)},
    ),
    Matcher(
        "wide_for_class",
        "wide for its class",
        "pose; needs 8 whole boxes of the class",
        "box",
        _BOXES,
        geometry.wide_for_class,
        {"deviations": _number(1)},
    ),
    Matcher("thin", "one side three times the other", "", "box", _REGIONS, geometry.thin, {"ratio": _number(3)}),
    Matcher(
        "occluded",
        "covered by boxes that reach lower in the image",
        "what unlabelled things hide; whether overlapping boxes really hide each other",
        "neighbours",
        _BOXES,
        neighbours.occluded,
    ),
    Matcher(
        "occluded_by",
        "covered by boxes of some class that reach lower in the image",
        "what unlabelled things hide; whether overlapping boxes really hide each other",
        "neighbours",
        _BOXES,
        neighbours.occluded_by,
        {"by": Param("group"), "any_depth": Param("flag", False)},
    ),
    Matcher(
        "inside_of",
        "within a larger box of another class",
        "whether it is seen through a window",
        "neighbours",
        _BOXES,
        neighbours.inside_of,
        {"of": Param("group", "any")},
    ),
    Matcher(
        "crowded",
        "many boxes near",
        "a crowd without labels",
        "neighbours",
        _BOXES,
        neighbours.crowded,
        {"same_class": Param("flag", False), "neighbours": _number(3)},
    ),
    Matcher(
        "scene_density",
        "many boxes in the image",
        "what is not labelled",
        "neighbours",
        _BOXES,
        neighbours.scene_density,
        {"objects": _number(15)},
    ),
    Matcher("near_similar", "a box of an easily confused class at it", "looks", "neighbours", _BOXES, neighbours.near_similar),
    Matcher("dark_box", "dark", "night from a black object", "pixels", _ALL, appearance.dark_box, {"luma": _number(60)}),
    Matcher(
        "image_dark",
        "the image is dark, its upper third too",
        "",
        "pixels",
        _ALL,
        appearance.image_dark,
        {"luma": _number(55), "top": _number(70)},
    ),
    Matcher("glare", "burnt out in part", "glare from a white object", "pixels", _ALL, appearance.glare, {"share": _number(0.15)}),
    Matcher(
        "low_figure_ground",
        "as bright as its surroundings",
        "contrast of colour",
        "pixels",
        _REGIONS,
        appearance.low_figure_ground,
        {"contrast": _number(0.05)},
    ),
    Matcher(
        "camouflage",
        "the colours of its surroundings",
        "texture; anything in a picture without colours",
        "pixels",
        _REGIONS,
        appearance.camouflage,
        {"likeness": _number(0.93)},
    ),
    Matcher("low_texture", "hardly any texture", "", "pixels", _ALL, appearance.low_texture, {"deviation": _number(0.1)}),
    Matcher(
        "blur_rel",
        "less sharp than usual in this data",
        "blur of a whole data set; blur from a smooth object",
        "pixels",
        _ALL,
        appearance.blur_rel,
        {"deviations": _number(1)},
    ),
    Matcher(
        "ring_clutter",
        "more edges around it than usual in this data",
        "",
        "pixels",
        _REGIONS,
        appearance.ring_clutter,
        {"deviations": _number(1)},
    ),
    Matcher(
        "haze",
        "the image is nowhere dark and hardly coloured",
        "fog from a white wall: a candidate only",
        "pixels",
        _ALL,
        appearance.haze,
        {"dark_channel": _number(0.37), "saturation": _number(0.25)},
    ),
)
MATCHERS: Mapping[str, Matcher] = {m.name: m for m in _ALL_MATCHERS}
"""All matchers by name."""


def matcher_label(offline: OfflineMatcher) -> str:
    """Name, parameters and version as one text, e.g. "occluded_by(any_depth=false, by=person) v2"."""
    filled = sorted(MATCHERS[offline.name].filled(offline.params).items())
    shown = {k: v if isinstance(v, str) else "|".join(v) if isinstance(v, list | tuple) else canonical_json(v) for k, v in filled}
    inner = ", ".join(f"{k}={v}" for k, v in shown.items())
    return f"{offline.name}({inner}) v{VERSION}" if inner else f"{offline.name} v{VERSION}"


def check_matcher(
    where: str, offline: OfflineMatcher, error: ErrorType, vocabulary: Vocabulary | None, class_names: Sequence[str] = ()
) -> tuple[Problem, ...]:
    """What is wrong with a matcher and its parameters.

    Args:
        where: Path in the document.
        offline: Name and parameters.
        error: Type of error, which decides the units.
        vocabulary: Known classes and groups; None to let every name pass, which then may stand for no class of the data.
        class_names: Classes of the data, which are known too.
    """
    matcher = MATCHERS.get(offline.name)
    if matcher is None:
        return (Problem(None, f"{where}.matcher", offline.name, ", ".join(MATCHERS), _nearest(offline.name, MATCHERS)),)
    problems = []
    if SIDE_OF[error] not in matcher.sides:
        fits = sorted(e for e, s in SIDE_OF.items() if s in matcher.sides)
        problems.append(
            Problem(None, f"{where}.matcher", f"{offline.name} for {error}", f"one of the types {', '.join(fits)} for this matcher")
        )
    for name in offline.params:
        if name not in matcher.params:
            allowed = ", ".join(matcher.params) or "no parameters"
            problems.append(Problem(None, f"{where}.params.{name}", name, allowed, _nearest(name, matcher.params)))
    for name, param in matcher.params.items():
        value, place = offline.params.get(name, param.default), f"{where}.params.{name}"
        if value is None:
            problems.append(Problem(None, place, "nothing", "a class or group" if param.kind == "group" else "a value"))
        elif param.kind == "flag" and not isinstance(value, bool):
            problems.append(Problem(None, place, str(value), "true or false"))
        elif param.kind == "number" and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf")):
            problems.append(Problem(None, place, str(value), "a number above 0"))
        elif param.kind == "group":
            problems += _check_names(place, value, vocabulary, class_names)
    return tuple(problems)


def _check_names(place: str, value: Any, vocabulary: Vocabulary | None, class_names: Sequence[str]) -> list[Problem]:
    """What is wrong with a name of a class or group, or a list of such names."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not names or not all(isinstance(n, str) and n for n in names):
        return [Problem(None, place, str(value), "a class or group, or a list of them")]
    if vocabulary is None:
        return []
    known = [*vocabulary.groups, "any", *class_names]
    return [
        Problem(None, place, n, f"{', '.join(known)}, or a class that is named in these groups", _nearest(n, known))
        for n in names
        if not vocabulary.knows(n) and vocabulary.canonical(n) not in {vocabulary.canonical(c) for c in class_names}
    ]


def score_offline(
    visible: Visible,
    hypotheses: Iterable[Hypothesis],
    *,
    features: PixelFeatures | None = None,
    vocabulary: Vocabulary | None = None,
) -> dict[str, Matched]:
    """Matching scores of all boxes of a side, for the hypotheses that are about this side and have a matcher.

    A hypothesis that looks at pixels has no entry unless they were measured. NaN is a box that cannot be scored.

    Args:
        visible: The boxes of one side, n of them.
        hypotheses: Those of other sides are passed over.
        features: Measurements of these very boxes, see `pixels.pixel_features`.
        vocabulary: Names of classes; those that ship by default.

    Returns:
        By id of the hypothesis: scores and logits, shape (n,).

    Raises:
        InputError: A matcher is not known or a parameter is wrong; all problems are listed. A class that the data does not have is no
            problem: nothing is covered by it.
        ValueError: The measurements are of other boxes.
    """
    if features is not None and len(features) != len(visible):
        raise ValueError(f"measurements of {len(features)} boxes for {len(visible)}")
    names = vocabulary or load_vocabulary()
    asked = [(h, h.offline) for h in hypotheses if h.offline is not None and SIDE_OF[h.error] == visible.side]
    problems = [p for h, offline in asked for p in check_matcher(h.id, offline, h.error, None)]
    if problems:
        raise InputError("Some hypotheses cannot be matched as they are.", problems)
    scene, done = Scene(visible, names, features), {}
    out: dict[str, Matched] = {}
    for h, offline in asked:
        matcher = MATCHERS[offline.name]
        if matcher.looks == "pixels" and features is None:
            continue
        label = matcher_label(offline)
        if label not in done:
            done[label] = matcher.score(scene, matcher.filled(offline.params))
        out[h.id] = done[label]
    return out


def _nearest(got: str, known: Iterable[str]) -> str:
    """The known name that looks most like it, "" if none does."""
    import difflib

    return next(iter(difflib.get_close_matches(got, list(known), 1)), "")

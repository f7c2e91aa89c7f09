"""From a person's own words to a hypothesis: type of error, classes and matcher by key words, and what was understood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.error_slices.hypotheses import Category, OfflineMatcher
from core.error_slices.matchers.registry import MATCHERS
from core.error_slices.units import SIDE_OF, ErrorType
from core.error_slices.vocabulary import ANY, Vocabulary, load_vocabulary, plain

ERROR_WORDS: dict[ErrorType, str] = {
    "FN": "found or missed",
    "FP": "right or false detections",
    "LOC": "how well boxes fit",
    "CLS": "right or wrong class",
    "IMAGE": "whole images",
    "SEG": "how well masks fit",
}

_ERRORS: tuple[tuple[ErrorType, str], ...] = (
    ("SEG", r"\b(masks?|segment\w*|silhouettes?)\b"),
    (
        "LOC",
        r"\b(locali[sz]\w*|(loose|bad|wrong|inaccurate|imprecise|poor|tight) (box|boxes)|badly placed|box(es)? (of|around|is|does|fits))",
    ),
    ("CLS", r"\b(confused (with|for)|(mis)?taken for|mistaken|misclassified|wrong class|labell?ed as|classified as)\b"),
    ("FP", r"\b(detected|detections?|predicted|predictions?|false (positives?|alarms?)|ghosts?|hallucinat\w*|phantoms?)\b"),
    (
        "IMAGE",
        r"^(the |a |an )?(whole |entire )?(picture|image|photo|photograph|scene|frame|shot)s? (was|is|were|are|shows?|taken|at|in)\b",
    ),
)

_BLIND = (
    (r"\b(reflect\w*|mirrors?)\b", "reflections"),
    (r"\b(posters?|statues?|mannequins?|drawings?|paintings?|billboards?|screens?|toys?)\b", "pictures and models of things"),
    (r"\b(glass|fences?|nets?|windshields?|windscreens?)\b", "glass, fences and nets"),
    (r"\b(child|children|kids?|baby|toddlers?|elderly)\b", "age"),
    (
        r"^(?!.*\b(fog|haze|hazy|mist)).*\b(drops?|droplets?|dirt|lens|snow(ing|flakes?)?|rain(ing)?)\b",
        "drops and dirt on a lens, rain and snow",
    ),
    (r"\b(looks? like|resembl\w*|similar to|shaped like|dressed|wearing|colou?red)\b", "looks"),
)

_MATCHERS: tuple[tuple[str, str], ...] = (
    ("image_dark", r"\b(night|night-?time|after dark)\b"),
    ("haze", r"\b(fog|foggy|haze|hazy|mist|misty)\b"),
    ("truncated", r"\b(cut (off|by)|truncat\w*|cropped|(leav\w+|outside|beyond) the (image|frame|picture))\b"),
    ("near_edge", r"\b(edges?|borders?|margins?|corners?) of the (image|frame|picture|photo)\b|\b(image|frame) (edges?|borders?)\b"),
    ("inside_of", r"\b(inside|within)\b"),
    (
        "narrow_for_class",
        r"\bfrom (directly )?(in )?(the )?(front|behind|rear|back)\b(?! (an?|the|another|some|parked)\b)|\b(head-?on|(rear|front) view)\b",
    ),
    ("occluded", r"\b(occlu\w*|hidden|covered|blocked|obscured|behind|obstruct\w*|overlapped)\b"),
    ("scene_density", r"\b(many|lots of) (other )?(objects|things|boxes)\b|\bbusy (scene|image|picture|street)\b"),
    ("crowded", r"\b(crowd\w*|dense\w*|group|groups|close together|cluster\w*|packed)\b"),
    ("near_similar", r"\b(next to|beside|near|adjacent to|close to)\b.*\b(similar|confus\w*|alike)\b"),
    ("far_horizon", r"\b(far|distant|distance|horizon|remote)\b"),
    ("small", r"\b(small|tiny|minuscule|few pixels)\b"),
    ("large", r"\b(huge|very large|fills?|close-?up|enormous)\b"),
    ("ring_clutter", r"\bclutter\w*\b"),
    ("camouflage", r"\b(camouflag\w*|blends?|blending|same colou?rs? as)\b"),
    ("low_figure_ground", r"\b(low contrast|contrast|same brightness)\b"),
    ("glare", r"\b(glare|over-?exposed|washed out|burnt out|blinding)\b"),
    ("dark_box", r"\b(dark|darkness|shadows?|unlit|under-?exposed|dim)\b"),
    ("blur_rel", r"\b(blur\w*|out of focus|unsharp|motion blur)\b"),
    ("low_texture", r"\b(textures?|textureless|plain|uniform|smooth)\b"),
    ("wide_for_class", r"\b(sitting|lying|bending|crouch\w*|kneel\w*|fallen)\b"),
    ("aspect_outlier", r"\b(unusual (shape|angle|aspect|pose|view)|odd angle|aspect ratio|width-to-height)\b"),
    ("thin", r"\b(thin|elongated|slender|narrow)\b"),
)

_CATEGORY: dict[str, Category] = {
    **dict.fromkeys(
        ("image_dark", "haze", "near_edge", "inside_of", "occluded", "occluded_by", "scene_density"), "contextual_interference"
    ),
    **dict.fromkeys(("crowded", "far_horizon", "ring_clutter"), "contextual_interference"),
    "near_similar": "semantic_confusion",
}


@dataclass(frozen=True)
class Proposal:
    """What key words make of a text; a person changes what is wrong.

    Attributes:
        error: Type of error.
        category: One of the three of GESD.
        classes: Names of classes or groups, ("any",) where none is named.
        offline: A matcher that needs no model, None where none fits.
        why: What was understood, one sentence each, for the screen.
    """

    error: ErrorType
    category: Category
    classes: tuple[str, ...]
    offline: OfflineMatcher | None
    why: tuple[str, ...]


def propose(text: str, class_names: Sequence[str] = (), vocabulary: Vocabulary | None = None) -> Proposal:
    """Type of error, classes and matcher for a statement in plain words, by key words alone.

    Args:
        text: The statement, about one box, such as "The bicycle is partly hidden by a person."
        class_names: Names of the classes of the data set, which the text may use too.
        vocabulary: Names of classes; those that ship by default.
    """
    names = vocabulary or load_vocabulary()
    low = re.sub(r"\s+", " ", text).strip().casefold()
    error, why = _error(low)
    named = _classes_in(low, class_names, names)
    # The first class that is named before what happens to it is what the statement is about.
    verb = re.search(r"\b(is|are|was|were|stands?|lies|lie|sits|has|have|looks?|appears?|shows?|by|behind|inside|within|next|near)\b", low)
    about = named[0][1] if named and (verb is None or named[0][0] < verb.start()) and not low.startswith("object") else ANY
    others = named[about != ANY :]
    why.append(f'About the class "{about}".' if about != ANY else "About every class, since none is named first.")
    offline, category = _matcher(low, error, about, others, names, why)
    return Proposal(error, category, (about,), offline, tuple(why))


def _error(low: str) -> tuple[ErrorType, list[str]]:
    for error, pattern in _ERRORS:
        if found := re.search(pattern, low):
            return error, [f'"{found.group().strip()}" says that it is about {ERROR_WORDS[error]}.']
    return "FN", [f"Nothing names an error, so it is about what is {ERROR_WORDS['FN']}."]


def _classes_in(low: str, class_names: Sequence[str], names: Vocabulary) -> list[tuple[int, str]]:
    """Classes and groups that a text names, with where, in order; longer names win over names within them."""
    known = {*names.groups, *names.aliases, *names.aliases.values(), *(c for g in names.groups.values() for c in g)}
    known |= {c for s in names.similar for c in s} | {plain(c) for c in class_names}
    found: list[tuple[int, str]] = []
    taken: set[int] = set()
    for name in sorted(known, key=lambda x: (-len(x), x)):
        for m in re.finditer(rf"(?<!\w){re.escape(name)}(?:e?s)?(?!\w)", low):
            if not taken & set(range(*m.span())):
                taken |= set(range(*m.span()))
                found.append((m.start(), name if name in names.groups else names.canonical(name)))
    return sorted(found)


def _matcher(
    low: str, error: ErrorType, about: str, others: list[tuple[int, str]], names: Vocabulary, why: list[str]
) -> tuple[OfflineMatcher | None, Category]:
    fits = [(name, m.group()) for name, pattern in _MATCHERS if (m := re.search(pattern, low))]
    category = next((_CATEGORY[n] for n, _ in fits if n in _CATEGORY), "semantic_confusion" if error == "CLS" else "intrinsic_difficulty")
    if blind := next((what for pattern, what in _BLIND if re.search(pattern, low)), None):
        why.append(f"Boxes and pixels do not tell {blind}: only a vision model can match it.")
        return None, category
    negation = re.search(r"\b(not|no|never|without|isn't|aren't|neither|rarely)\b", low)
    if negation:
        why.append(
            f'"{negation.group()}" turns the meaning round, which no matcher of boxes and pixels does: only a vision model can match it.'
        )
        return None, category
    usable = [(n, word) for n, word in fits if SIDE_OF[error] in MATCHERS[n].sides]
    if not usable:
        why.append("No matcher of boxes and pixels fits these words: only a vision model can match it.")
        return None, category
    name, word = usable[0]
    if name == "narrow_for_class" and about in names.groups["person"]:
        why.append(f'"{word}": a person is as narrow from the front as from the side, so only a vision model can match it.')
        return None, category
    params: dict[str, Any] = {}
    other = next((o for at, o in others if re.search(r"\b(by|behind|under|beneath|inside|within|in|of)\b[^.,;]{0,30}$", low[:at])), None)
    if name == "occluded" and other is not None:
        name, params = "occluded_by", {"by": other}
    elif name == "inside_of" and other is not None:
        params = {"of": other}
    elif name == "crowded" and re.search(r"\bsame (class|kind|type)\b", low):
        params = {"same_class": True}
    says = MATCHERS[name].says.replace("some class", f'class "{other}"') if params.get("by") else MATCHERS[name].says
    why.append(f'"{word}" is matched as "{says}" ({name}).')
    if MATCHERS[name].cannot:
        why.append(f"That matcher cannot tell {MATCHERS[name].cannot}.")
    if also := sorted({n for n, _ in usable[1:]} - {name}):
        why.append(f"Left aside, since one matcher is used: {', '.join(also)}.")
    return OfflineMatcher(name, params), _CATEGORY.get(name, "intrinsic_difficulty")

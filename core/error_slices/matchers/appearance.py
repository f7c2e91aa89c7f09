"""Matchers that look at pixels: how bright, sharp, textured and different from its surroundings a box is, and what the image is like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.error_slices.detections import FloatArray
from core.error_slices.matchers.scales import Matched, both, logistic, robust_z
from core.error_slices.matchers.scene import Scene

Params = Mapping[str, Any]
NO_COLOUR = 0.005
"""Mean saturation of a picture below which it is grey, such as one of an infrared camera."""


def dark_box(scene: Scene, params: Params) -> Matched:
    """The box is dark; a black object by day is too."""
    return logistic((params["luma"] - _column(scene, "luma")) / 12)


def glare(scene: Scene, params: Params) -> Matched:
    """A share of the box is burnt out; a white object is too."""
    return logistic((_column(scene, "glare") - params["share"]) / 0.06)


def low_figure_ground(scene: Scene, params: Params) -> Matched:
    """The box is as bright as the ring around it."""
    contrast = np.abs(_column(scene, "luma") - _column(scene, "ring_luma")) / 255
    return logistic((params["contrast"] - contrast) / 0.02)


def camouflage(scene: Scene, params: Params) -> Matched:
    """The box has the colours of the ring around it; most boxes share 0.8 to 0.9 of them, so that only more says something.

    In a picture without colours everything shares them, which says nothing: there is no score.
    """
    likeness = np.where(_column(scene, "saturation") < NO_COLOUR, np.nan, _column(scene, "likeness"))
    return logistic((likeness - params["likeness"]) / 0.03)


def low_texture(scene: Scene, params: Params) -> Matched:
    """The brightness of the box hardly varies."""
    return logistic((params["deviation"] - _column(scene, "deviation")) / 0.03)


def blur_rel(scene: Scene, params: Params) -> Matched:
    """The box is less sharp than the boxes of this data set usually are; a smooth object is too."""
    return logistic((-robust_z(_column(scene, "sharpness")) - params["deviations"]) / 0.4)


def ring_clutter(scene: Scene, params: Params) -> Matched:
    """The ring around the box has more edges than rings of this data set usually have."""
    return logistic((robust_z(_column(scene, "clutter")) - params["deviations"]) / 0.4)


def image_dark(scene: Scene, params: Params) -> Matched:
    """The image is dark, its upper third too."""
    return both((params["luma"] - _column(scene, "image_luma")) / 10, (params["top"] - _column(scene, "image_top")) / 15)


def haze(scene: Scene, params: Params) -> Matched:
    """The image is nowhere dark and hardly coloured: fog, or a white wall."""
    return both(
        (_column(scene, "dark_channel") - params["dark_channel"]) / 0.06, (params["saturation"] - _column(scene, "saturation")) / 0.05
    )


def _column(scene: Scene, name: str) -> FloatArray:
    if scene.features is None:
        raise ValueError("matchers of pixels need measurements of pixels")
    return scene.features.column(name)

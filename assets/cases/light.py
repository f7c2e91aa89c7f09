"""Weather and light of scenes: colours of sky, fog and sun, and the sky itself."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from kit import Colour


@dataclass(frozen=True)
class Look:
    """Weather and light.

    Attributes:
        top: Sky above.
        low: Sky at the horizon; also the colour of the haze.
        clouds: 0 none to 1 closed.
        cloud: Colour of the clouds.
        sun: Azimuth and elevation of the light in degrees (azimuth to the left of x).
        direct: Strength of the sun.
        ambient: Strength of the light from everywhere.
        tint: Colour of the light, as factors.
        haze_m: Distance at which 63 % is haze.
        shadow: How dark shadows are, 0 to 1.
        lamps: Whether lamps and windows are lit.
        wet: Whether the road mirrors.
        rain: Whether it rains.
    """

    top: Colour
    low: Colour
    clouds: float = 0.3
    cloud: Colour = (250, 250, 252)
    sun: tuple[float, float] = (-60.0, 42.0)
    direct: float = 0.72
    ambient: float = 0.64
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    haze_m: float = 320.0
    shadow: float = 0.46
    lamps: bool = False
    wet: bool = False
    rain: bool = False


LOOKS: dict[str, Look] = {
    "day": Look((74, 132, 204), (198, 218, 234), tint=(1.02, 1.0, 0.96)),
    "bright": Look((64, 124, 206), (206, 222, 232), clouds=0.15, sun=(70.0, 50.0), tint=(1.03, 1.0, 0.95)),
    "overcast": Look(
        (150, 160, 172), (206, 210, 214), clouds=0.8, cloud=(196, 200, 206), direct=0.16, ambient=0.82, shadow=0.26, haze_m=230.0
    ),
    "dusk": Look(
        (70, 82, 122), (232, 188, 152), clouds=0.4, cloud=(206, 150, 140), sun=(-150.0, 9.0), direct=0.2, ambient=0.5,
        tint=(1.0, 0.94, 0.96), haze_m=190.0, shadow=0.22, lamps=True,
    ),
    "morning": Look(
        (104, 150, 204), (246, 224, 194), clouds=0.35, cloud=(255, 240, 224), sun=(35.0, 20.0), direct=0.66, ambient=0.64,
        tint=(1.05, 0.98, 0.88), haze_m=240.0, shadow=0.42,
    ),
    "rain": Look(
        (112, 120, 130), (164, 170, 176), clouds=0.9, cloud=(138, 144, 152), direct=0.08, ambient=0.68, tint=(0.95, 0.98, 1.03),
        haze_m=95.0, shadow=0.2, lamps=True, wet=True, rain=True,
    ),
    "fog": Look(
        (196, 200, 204), (206, 209, 211), clouds=0.0, direct=0.05, ambient=0.85, haze_m=33.0, shadow=0.12, lamps=True, wet=True
    ),
    "night": Look(
        (10, 14, 30), (44, 50, 72), clouds=0.3, cloud=(34, 38, 54), sun=(-120.0, 60.0), direct=0.1, ambient=0.34, tint=(0.86, 0.94, 1.16),
        haze_m=150.0, shadow=0.2, lamps=True,
    ),
}  # fmt: skip


def sun_direction(look: Look) -> np.ndarray:
    """Unit vector towards the light, shape (3,)."""
    a, e = (math.radians(v) for v in look.sun)
    return np.array([math.cos(a) * math.cos(e), math.sin(a) * math.cos(e), math.sin(e)])


def noise(shape: tuple[int, int], cells: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Smooth noise of -1 to 1, repeating in its second axis; `cells` grid points along each axis."""
    grid = rng.uniform(-1, 1, cells)
    y = np.linspace(0, cells[0] - 1.001, shape[0])
    x = np.linspace(0, cells[1], shape[1], endpoint=False)
    y0, x0 = y.astype(int), x.astype(int)
    fy, fx = (y - y0)[:, None], (x - x0)[None]
    fy, fx = fy * fy * (3 - 2 * fy), fx * fx * (3 - 2 * fx)
    x1, y1 = (x0 + 1) % cells[1], np.minimum(y0 + 1, cells[0] - 1)
    top = grid[y0][:, x0] * (1 - fx) + grid[y0][:, x1] * fx
    low = grid[y1][:, x0] * (1 - fx) + grid[y1][:, x1] * fx
    return top * (1 - fy) + low * fy


def dome(look: Look, seed: int) -> np.ndarray:
    """The sky as a picture, shape (240, 1440, 3): four rows a degree above the horizon, four columns a degree of azimuth."""
    rng = np.random.default_rng([seed, 7])
    rise = np.arange(240)[:, None] / 4.0
    up = rise / 40.0
    blend = np.clip(up, 0, 1) ** 0.62
    sky = np.array(look.low) * (1 - blend[..., None]) + np.array(look.top) * blend[..., None]
    sky = np.repeat(sky, 1440, axis=1)
    if look.clouds:
        # Clouds lie flat: finer towards the horizon.
        field = sum(noise((240, 1440), (4 + 5 * k * k, 10 * k * k), rng) / k for k in (1, 2, 3, 4))
        cover = np.clip((field + (look.clouds - 0.62) * 2.1) * 1.7, 0, 1)[..., None] * (0.85 if look.clouds < 0.7 else 0.7)
        cover = cover * np.clip((rise[..., None] - 1.5) / 9, 0, 1)
        light = 1 + 0.08 * noise((240, 1440), (24, 70), rng)[..., None]
        sky = sky * (1 - cover) + np.array(look.cloud) * light * cover
    if look.direct > 0.3 or (look.lamps and look.sun[1] < 12):
        az, el = look.sun
        a = (np.arange(1440) / 4 - az + 180) % 360 - 180
        d = np.hypot(a[None] * math.cos(math.radians(el)), rise - el)
        sky = sky + (np.exp(-d / 14) * 46 + np.exp(-d / 2.2) * 90)[..., None] * np.array([1.0, 0.92, 0.76])
    return np.clip(sky, 0, 255)

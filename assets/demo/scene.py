"""Draws a simple road scene of a slice: sky, surroundings, road, vehicles, weather, and the word SYNTHETIC in the pixels."""

from __future__ import annotations

import random
from collections.abc import Mapping

from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageFont

WIDTH, HEIGHT = 448, 252
HORIZON = 112
CENTRE = WIDTH // 2
ROAD_TOP, ROAD_BOTTOM = 20, 330
"""Half-widths of the road at the horizon and at the lower edge, in px."""

Colour = tuple[int, int, int]
Values = Mapping[str, str]

SKIES: dict[tuple[str, str], tuple[Colour, Colour]] = {
    ("day", "clear"): ((74, 144, 217), (186, 220, 242)),
    ("day", "cloudy"): ((140, 152, 164), (205, 211, 216)),
    ("night", "clear"): ((9, 14, 38), (30, 40, 74)),
    ("night", "cloudy"): ((20, 22, 30), (44, 46, 56)),
    ("dawn", "clear"): ((88, 110, 170), (250, 196, 150)),
    ("dawn", "cloudy"): ((112, 116, 140), (226, 184, 160)),
    ("dusk", "clear"): ((52, 42, 92), (240, 128, 72)),
    ("dusk", "cloudy"): ((58, 54, 76), (184, 112, 92)),
}
GROUND: dict[str, Colour] = {
    "city_downtown": (126, 124, 120),
    "city_suburbs": (112, 142, 84),
    "highway": (122, 146, 90),
    "construction": (158, 132, 96),
    "tunnel": (70, 68, 66),
    "rural_road": (116, 148, 74),
}
ROADS: dict[str, Colour] = {"dry": (98, 98, 102), "wet": (56, 60, 68), "snow": (226, 230, 236)}
LIGHT = {"day": 1.0, "dawn": 0.72, "dusk": 0.6, "night": 0.3}
CARS: tuple[Colour, ...] = ((178, 44, 44), (40, 86, 158), (214, 214, 218), (52, 54, 58), (208, 168, 52), (92, 128, 100))


def draw(values: Values, seed: int, frame: int = 0) -> Image.Image:
    """The picture of a slice; the same values, seed and frame always give the same pixels. Frames of a seed share their place."""
    rng = random.Random(seed)  # noqa: S311 (a picture, not a lock)
    moving = random.Random(f"{seed} {frame}")  # noqa: S311
    time, tunnel = values["time"], values["environment"] == "tunnel"
    image = _sky(values["sky_conditions"], time, rng)
    d = ImageDraw.Draw(image)
    ground = (224, 228, 234) if values["road_condition"] == "snow" and not tunnel else GROUND[values["environment"]]
    d.rectangle((0, HORIZON, WIDTH, HEIGHT), fill=_dim(ground, LIGHT[time]))
    _surroundings(d, values["environment"], time, rng)
    _road(d, values, rng)
    if values["road_condition"] == "wet":
        image = _mirror(image)
        d = ImageDraw.Draw(image)
    if values["environment"] == "construction":
        _works(d, time, rng)
    if values.get("road_users_present") == "pedestrians":
        _people(d, time, moving)
    lamps = _traffic(d, values, moving)
    if tunnel:
        image = _tunnel(image)
        lamps += [(x, 40 - i * 3, 5) for i, x in enumerate((CENTRE - 70, CENTRE, CENTRE + 70))]
    elif time == "night" and values["environment"] != "highway":
        lamps += [(40, 52, 6), (WIDTH - 40, 52, 6), (130, 82, 3), (WIDTH - 130, 82, 3)]
    if time in ("night", "dusk") or tunnel:
        image = _glow(image, lamps)
    image = _weather(image, values["weather_visibility"], time, tunnel, moving)
    return _label(image)


def _dim(colour: Colour, light: float) -> Colour:
    r, g, b = (int(c * light) for c in colour)
    return r, g, min(255, b + int(14 * (1 - light)))


def _sky(sky: str, time: str, rng: random.Random) -> Image.Image:
    top, low = SKIES[time, sky]
    image = Image.new("RGB", (WIDTH, HEIGHT), low)
    d = ImageDraw.Draw(image)
    for y in range(HORIZON + 1):
        d.line((0, y, WIDTH, y), fill=tuple(a + (b - a) * y // HORIZON for a, b in zip(top, low, strict=True)))
    if sky == "clear":
        x = rng.randrange(40, WIDTH - 40)
        if time == "night":
            d.ellipse((x, 14, x + 18, 32), fill=(236, 236, 214))
            for _ in range(60):
                sx, sy = rng.randrange(WIDTH), rng.randrange(HORIZON - 14)
                d.point((sx, sy), fill=(210, 214, 232))
        else:
            y = {"day": 16, "dawn": HORIZON - 26, "dusk": HORIZON - 20}[time]
            d.ellipse((x, y, x + 26, y + 26), fill=(255, 240, 190) if time == "day" else (255, 196, 120))
        return image
    shade = {"day": 236, "dawn": 206, "dusk": 132, "night": 62}[time]
    for _ in range(16):
        x, y, w = rng.randrange(-30, WIDTH), rng.randrange(-8, HORIZON - 34), rng.randrange(50, 120)
        c = shade - rng.randrange(36)
        for k in range(3):
            d.ellipse((x + k * w // 4, y + (k % 2) * 4, x + k * w // 4 + w // 2, y + 18 + (k % 2) * 4), fill=(c, c, min(255, c + 5)))
    return image


def _surroundings(d: ImageDraw.ImageDraw, environment: str, time: str, rng: random.Random) -> None:
    light = LIGHT[time]
    if environment == "city_downtown":
        x = 0
        while x < WIDTH:
            w, h = rng.randrange(26, 52), rng.randrange(44, 104)
            if abs(x + w / 2 - CENTRE) > 34:
                c = rng.randrange(92, 156)
                d.rectangle((x, HORIZON - h, x + w - 3, HORIZON + 8), fill=_dim((c, c, c + 6), light))
                for wy in range(HORIZON - h + 6, HORIZON - 4, 10):
                    for wx in range(x + 4, x + w - 8, 8):
                        lit = time in ("night", "dusk") and rng.random() < 0.55
                        d.rectangle((wx, wy, wx + 3, wy + 5), fill=(250, 220, 130) if lit else _dim((70, 84, 104), light + 0.1))
            x += w
    elif environment in ("city_suburbs", "construction", "rural_road"):
        for k in range(6 if environment != "rural_road" else 2):
            x = rng.choice((rng.randrange(0, CENTRE - 90), rng.randrange(CENTRE + 60, WIDTH - 20)))
            w, h = rng.randrange(30, 44), rng.randrange(18, 26)
            wall = ((206, 186, 160), (186, 156, 136), (214, 208, 196))[k % 3]
            d.rectangle((x, HORIZON - h, x + w, HORIZON + 8), fill=_dim(wall, light))
            d.polygon([(x - 4, HORIZON - h), (x + w // 2, HORIZON - h - 14), (x + w + 4, HORIZON - h)], fill=_dim((136, 66, 52), light))
            if time in ("night", "dusk"):
                d.rectangle((x + 8, HORIZON - h + 6, x + 14, HORIZON - h + 12), fill=(250, 220, 130))
        for _ in range(7 if environment != "rural_road" else 18):
            x = rng.choice((rng.randrange(0, CENTRE - 50), rng.randrange(CENTRE + 50, WIDTH)))
            d.rectangle((x - 1, HORIZON - 8, x + 2, HORIZON + 8), fill=_dim((88, 66, 48), light))
            d.ellipse((x - 10, HORIZON - 32, x + 11, HORIZON - 6), fill=_dim((58, 106, 52), light))
    elif environment == "highway":
        points = [(0, HORIZON)]
        for x in range(0, WIDTH + 40, 40):
            points.append((x, HORIZON - rng.randrange(8, 26)))
        d.polygon([*points, (WIDTH, HORIZON)], fill=_dim((104, 130, 108), light))
        d.line((CENTRE - 92, 74, CENTRE - 92, HORIZON + 22), fill=_dim((150, 152, 156), light), width=3)
        d.line((CENTRE + 92, 74, CENTRE + 92, HORIZON + 22), fill=_dim((150, 152, 156), light), width=3)
        d.rectangle((CENTRE - 92, 66, CENTRE + 92, 86), fill=_dim((24, 92, 168), max(light, 0.5)))
        for x in (CENTRE - 62, CENTRE + 2):
            d.rectangle((x, 71, x + 54, 73), fill=(232, 236, 240))
            d.rectangle((x, 78, x + 36, 80), fill=(232, 236, 240))
        for side in (-1, 1):  # guard rails
            d.line((CENTRE + side * 30, HORIZON + 3, CENTRE + side * 345, HEIGHT - 8), fill=_dim((196, 200, 204), light), width=4)


def _edge(y: int) -> int:
    """Half-width of the road at a height."""
    return ROAD_TOP + (ROAD_BOTTOM - ROAD_TOP) * (y - HORIZON) // (HEIGHT - HORIZON)


def _road(d: ImageDraw.ImageDraw, values: Values, rng: random.Random) -> None:
    light, surface = LIGHT[values["time"]], values["road_condition"]
    tarmac = _dim(ROADS[surface], max(light, 0.36))
    paint = _dim((238, 238, 232), max(light, 0.5))
    if values["road_type"] == "intersection":
        d.rectangle((0, 134, WIDTH, 160), fill=tarmac)
    d.polygon(
        [(CENTRE - ROAD_TOP, HORIZON), (CENTRE + ROAD_TOP, HORIZON), (CENTRE + ROAD_BOTTOM, HEIGHT), (CENTRE - ROAD_BOTTOM, HEIGHT)],
        fill=tarmac,
    )
    if surface == "snow":
        track = _dim((176, 182, 192), max(light, 0.4))
        for a in (-0.62, -0.32, 0.32, 0.62):
            d.line((CENTRE + int(a * ROAD_TOP), HORIZON, CENTRE + int(a * ROAD_BOTTOM), HEIGHT), fill=track, width=5)
    else:
        lanes = (-0.5, 0.0, 0.5) if values["environment"] == "highway" else (0.0,)
        for lane in lanes:
            for k in range(7):
                y1 = HORIZON + 4 + k * k * 3
                y2 = y1 + 3 + k * 2
                if y2 < HEIGHT and not (values["road_type"] == "intersection" and 130 < y1 < 164):
                    x1, x2 = CENTRE + int(lane * _edge(y1)), CENTRE + int(lane * _edge(y2))
                    d.line((x1, y1, x2, y2), fill=paint, width=1 + k // 2)
    if values["road_type"] == "intersection":
        for k in range(-5, 6):  # crosswalk
            x = CENTRE + k * 24
            if abs(x - CENTRE) < _edge(172) - 8 and surface != "snow":
                d.polygon([(x - 7, 168), (x + 5, 168), (x + 7, 180), (x - 8, 180)], fill=paint)
        for x in (CENTRE - 128, CENTRE + 122):
            d.line((x, 72, x, 150), fill=(52, 54, 58), width=3)
            d.rectangle((x - 5, 58, x + 6, 86), fill=(30, 32, 34))
            for k, c in enumerate(((232, 62, 52), (92, 78, 30), (30, 84, 44))):
                d.ellipse((x - 3, 61 + k * 8, x + 4, 68 + k * 8), fill=c)


def _works(d: ImageDraw.ImageDraw, time: str, rng: random.Random) -> None:
    light = max(LIGHT[time], 0.55)
    orange, white = _dim((240, 116, 34), light), _dim((240, 240, 236), light)
    for k in range(6):  # cones along the right edge of the lane
        y = HORIZON + 16 + k * k * 4
        s = 4 + k * 3
        x = CENTRE + int(_edge(y) * 0.52) + rng.randrange(3)
        d.polygon([(x, y - s * 2), (x - s // 2 - 1, y), (x + s // 2 + 1, y)], fill=orange)
        d.rectangle((x - s // 3, y - s, x + s // 3, y - s + max(1, s // 4)), fill=white)
    for k in range(6):  # a striped barrier at the left
        x = 8 + k * 18
        d.polygon([(x, 166), (x + 9, 166), (x + 18, 150), (x + 9, 150)], fill=orange)
        d.polygon([(x + 9, 166), (x + 18, 166), (x + 27, 150), (x + 18, 150)], fill=white)
    d.polygon([(70, 104), (46, 138), (94, 138)], fill=_dim((248, 200, 40), light), outline=(150, 30, 24))
    x = WIDTH - 108  # an excavator
    d.rectangle((x, HORIZON - 8, x + 40, HORIZON + 12), fill=_dim((226, 170, 36), light))
    d.rectangle((x + 22, HORIZON - 24, x + 38, HORIZON - 8), fill=_dim((120, 150, 168), light))
    d.line((x + 4, HORIZON - 4, x - 22, HORIZON - 34, x - 40, HORIZON - 2), fill=_dim((226, 170, 36), light), width=5)
    d.rectangle((x - 4, HORIZON + 12, x + 44, HORIZON + 20), fill=(42, 42, 44))


def _people(d: ImageDraw.ImageDraw, time: str, rng: random.Random) -> None:
    for _ in range(4):
        x, y, light = CENTRE + rng.choice((-1, 1)) * rng.randrange(70, 170), rng.randrange(160, 178), max(LIGHT[time], 0.45)
        coat = _dim(rng.choice(CARS), light)
        d.ellipse((x - 3, y - 34, x + 4, y - 27), fill=_dim((214, 170, 140), light))
        d.rectangle((x - 4, y - 27, x + 5, y - 12), fill=coat)
        d.line((x - 2, y - 12, x - 4, y), fill=(28, 28, 34), width=3)
        d.line((x + 3, y - 12, x + 5, y), fill=(28, 28, 34), width=3)


def _traffic(d: ImageDraw.ImageDraw, values: Values, rng: random.Random) -> list[tuple[int, int, int]]:
    """Draws the vehicles; gives the places and sizes of their lamps."""
    light = LIGHT[values["time"]]
    n = rng.randrange(9, 13) if values["traffic_type"] == "dense" else rng.randrange(1, 3)
    lamps = []
    spots: list[tuple[int, float]] = []
    for _ in range(200):
        y, lane = HORIZON + 8 + int(96 * rng.random() ** 1.4), rng.choice((-0.62, -0.24, 0.26, 0.66))
        if len(spots) < n and all(abs(y - v) > 7 + (y - HORIZON) // 5 or lane != a for v, a in spots):
            spots.append((y, lane))
    for y, lane in sorted(spots):
        s = max(4, (y - HORIZON) // 3 + 3)
        x = CENTRE + int(lane * _edge(y))
        body = _dim(rng.choice(CARS), max(light, 0.34))
        d.rectangle((x - s, y - s, x + s, y), fill=body)
        d.polygon(
            [(x - s + s // 4, y - s), (x - s // 2, y - s - s * 3 // 5), (x + s // 2, y - s - s * 3 // 5), (x + s - s // 4, y - s)],
            fill=body,
        )
        d.polygon(
            [(x - s // 2, y - s), (x - s // 3, y - s - s // 2), (x + s // 3, y - s - s // 2), (x + s // 2, y - s)],
            fill=_dim((150, 178, 196), max(light, 0.3)),
        )
        for side in (-1, 1):
            w = max(1, s // 4)
            d.rectangle((x + side * s * 3 // 4 - w // 2, y, x + side * s * 3 // 4 + w // 2, y + max(1, s // 5)), fill=(20, 20, 22))
            ahead = lane > 0 or values["environment"] == "highway"
            lamp = (226, 40, 34) if ahead else (255, 244, 206)
            d.rectangle((x + side * s * 3 // 4 - w // 2, y - s * 2 // 3, x + side * s * 3 // 4 + w // 2, y - s // 2), fill=lamp)
            lamps.append((x + side * s * 3 // 4, y - s * 3 // 5, max(2, s // 4)))
    return lamps


def _tunnel(image: Image.Image) -> Image.Image:
    """Walls and a vault over everything but the road; the far end is open."""
    hole = Image.new("L", image.size, 0)
    h = ImageDraw.Draw(hole)
    h.ellipse((CENTRE - 46, HORIZON - 44, CENTRE + 46, HORIZON + 30), fill=255)
    h.polygon([(CENTRE - ROAD_TOP - 26, HORIZON), (CENTRE + ROAD_TOP + 26, HORIZON), (WIDTH + 40, HEIGHT), (-40, HEIGHT)], fill=255)
    walls = Image.new("RGB", image.size, (58, 56, 54))
    d = ImageDraw.Draw(walls)
    for k in range(9, 0, -1):
        rx, ry, shade = 46 + k * 26, 44 + k * 15, 40 + k * 8
        d.ellipse((CENTRE - rx, HORIZON - ry, CENTRE + rx, HORIZON + ry), outline=(shade, shade - 2, shade - 6), width=9)
    for x, y in ((CENTRE - 70, 40), (CENTRE, 34), (CENTRE + 70, 40)):
        d.rectangle((x - 14, y - 3, x + 14, y + 2), fill=(255, 226, 150))
    return Image.composite(image, walls, hole)


def _glow(image: Image.Image, lamps: list[tuple[int, int, int]]) -> Image.Image:
    layer = Image.new("RGB", image.size)
    d = ImageDraw.Draw(layer)
    for x, y, r in lamps:
        d.ellipse((x - r * 2, y - r * 2, x + r * 2, y + r * 2), fill=(150, 128, 84))
    d.polygon([(CENTRE - 26, HORIZON + 34), (CENTRE + 26, HORIZON + 34), (CENTRE + 150, HEIGHT), (CENTRE - 150, HEIGHT)], fill=(46, 44, 36))
    return ImageChops.screen(image, layer.filter(ImageFilter.GaussianBlur(5)))


def _mirror(image: Image.Image) -> Image.Image:
    """What stands above the horizon as a reflection in the road."""
    above = image.crop((0, HORIZON - 84, WIDTH, HORIZON)).transpose(Image.Transpose.FLIP_TOP_BOTTOM).resize((WIDTH, HEIGHT - HORIZON))
    wet = image.copy()
    wet.paste(above.filter(ImageFilter.GaussianBlur(3)), (0, HORIZON))
    mask = Image.new("L", image.size, 0)
    ImageDraw.Draw(mask).polygon(
        [
            (CENTRE - ROAD_TOP, HORIZON + 4),
            (CENTRE + ROAD_TOP, HORIZON + 4),
            (CENTRE + ROAD_BOTTOM, HEIGHT),
            (CENTRE - ROAD_BOTTOM, HEIGHT),
        ],
        fill=92,
    )
    return Image.composite(wet, image, mask)


def _weather(image: Image.Image, weather: str, time: str, tunnel: bool, rng: random.Random) -> Image.Image:
    if weather == "foggy":
        grey = {"day": 206, "dawn": 196, "dusk": 132, "night": 78}[time] if not tunnel else 120
        veil = Image.new("L", image.size)
        d = ImageDraw.Draw(veil)
        for y in range(HEIGHT):
            d.line((0, y, WIDTH, y), fill=max(70, 214 - abs(y - HORIZON) * 3 // 2))
        return Image.composite(Image.new("RGB", image.size, (grey, grey, grey + 4)), image.filter(ImageFilter.GaussianBlur(1)), veil)
    if tunnel or weather == "clear":
        return image
    layer = Image.new("RGB", image.size)
    d = ImageDraw.Draw(layer)
    if weather == "rainy":
        for _ in range(260):
            x, y, n = rng.randrange(WIDTH), rng.randrange(HEIGHT), rng.randrange(8, 18)
            d.line((x, y, x - n // 4, y + n), fill=(92, 98, 108))
        return ImageChops.screen(image.point(lambda v: v * 88 // 100), layer)
    for _ in range(420):
        x, y, r = rng.randrange(WIDTH), rng.randrange(HEIGHT), rng.choice((1, 1, 1, 2, 2, 3))
        d.ellipse((x, y, x + r, y + r), fill=(226, 230, 236))
    return ImageChops.screen(image, layer)


def _label(image: Image.Image) -> Image.Image:
    d = ImageDraw.Draw(image)
    d.rectangle((0, HEIGHT - 16, WIDTH, HEIGHT), fill=(16, 18, 22))
    d.text((6, HEIGHT - 15), "SYNTHETIC - drawn by a program, no camera", fill=(244, 214, 92), font=ImageFont.load_default(11))
    return image

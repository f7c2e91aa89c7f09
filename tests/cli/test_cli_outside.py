"""The command rank outside the ODD: sizes, arithmetic, refusals, through the real command line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from core.cli import app
from core.errors import OddysseyError
from core.odd import built_in

ROOT = Path(__file__).parents[2]
DEMO = [str(ROOT / "assets" / "demo" / "seed_table.csv"), "--model-column", "model", "--model", "model-a"]


def rank(*options: object) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["rank", *DEMO, *map(str, options), "--json"], catch_exceptions=False)
    return json.loads(result.stdout)


def refused(*options: object) -> str:
    with pytest.raises(OddysseyError) as caught:
        CliRunner().invoke(app, ["rank", *DEMO, *map(str, options)], catch_exceptions=False)
    return str(caught.value)


def test_the_whole_extension_is_searched_exactly_and_counted() -> None:
    data = rank("--scope", "out", "--extend", "all", "--top", 500)
    search = data["search"]
    assert (search["space"], search["candidates"], search["observed"]) == (91_445_760, 91_441_920, 300)
    assert search["complete"] is True
    assert search["gap"] == 0
    assert 0 < search["nodes"] < 1_000_000
    assert len({i["slice_id"] for i in data["items"]}) == 500
    assert {i["scope"] for i in data["items"]} == {"out_of_odd"}
    order = [(-round(i["phi"] * 1e12), i["slice_id"]) for i in data["items"]]
    assert order == sorted(order)
    assert data["manifest"]["scope"]["kind"] == "out"


def test_both_scopes_together_count_the_missing_slices_inside_too() -> None:
    data = rank("--scope", "both", "--top", 5)
    assert data["search"]["candidates"] == 91_441_920 + 3_540


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--novel", "unseen"),
        ("--rarity", "log", "--gamma", 1.5),
        ("--risk", "ridge", "--rarity", "log"),
        ("--shrink", "--beta", 0.5, "--kappa", 0.3),
    ],
)
def test_every_number_outside_the_odd_can_be_recomputed_from_its_explanation(options: tuple[object, ...]) -> None:
    data = rank("--scope", "out", "--extend", "time", "--extend", "weather_visibility=dust,fog_dense", "--top", 40, *options)
    manifest = data["manifest"]
    for item in data["items"]:
        e = item["explanation"]
        p = e["parameters"]
        product = 1.0
        for x in e["exposures"]:
            if x["star"]:
                assert (p["novel"], x["count"], x["extended"]) == ("similar", 0, True)
                value = x["star_p"] * x["similarity"] * p["beta"]
            else:
                value = (x["count"] + p["alpha"]) / (x["total"] + p["alpha"] * x["values"])
            assert x["p"] == pytest.approx(value, rel=1e-12)
            product *= value
        assert item["exposure"] == pytest.approx(product ** p["tau"], rel=1e-9)
        if p["rarity"] == "paper":
            w_rare = (1 - product ** p["tau"]) ** p["gamma"]
        else:
            w_rare = ((e["log_high"] - math.log(product)) / (e["log_high"] - e["log_low"])) ** p["gamma"]
        assert item["w_rare"] == pytest.approx(w_rare, abs=1e-9)
        if p["risk"] == "ridge":
            raw = sum(c["effect"] for c in e["contributions"])
        else:
            raw = max((n["similarity"] * n["error"] for n in e["neighbours"]), default=0.0)
        assert e["raw_error"] == pytest.approx(raw, abs=1e-9)
        assert item["eps_hat"] == pytest.approx(min(max(raw, 0.0), p["kappa"]), abs=1e-9)
        assert item["phi"] == pytest.approx(w_rare * (1 + min(max(raw, 0.0), p["kappa"])), abs=1e-9)
        if p["shrink"]:
            s = manifest["shrinkage"]
            for n in e["neighbours"]:
                assert n["error"] == pytest.approx((n["measured"] * n["n"] + s["strength"] * s["mean"]) / (n["n"] + s["strength"]))


def test_a_value_never_seen_that_counts_as_more_common_than_one_that_was_is_told() -> None:
    data = rank("--scope", "out", "--extend", "weather_visibility=fog_dense", "--top", 1)
    x = next(x for x in data["items"][0]["explanation"]["exposures"] if x["dimension"] == "weather_visibility")
    assert (x["value"], x["star"]) == ("fog_dense", "foggy")
    assert x["rarer"] == ["snowy"]


def test_rules_are_off_unless_asked_for_and_what_they_leave_out_is_counted() -> None:
    plain, ruled = rank("--scope", "out", "--top", 300), rank("--scope", "out", "--top", 300, "--plausible-only")
    assert plain["search"]["implausible"] == 0
    assert plain["manifest"]["implausible_rules"] == []
    assert ruled["search"]["implausible"] > 0
    assert ruled["search"]["implausible"] + ruled["search"]["candidates"] == plain["search"]["candidates"]
    for i in ruled["items"]:
        assert not (i["sky_conditions"] == "sun_glare" and i["time"] == "night")


def test_a_diversity_floor_is_kept_and_said() -> None:
    plain, kept = rank("--scope", "out", "--top", 50), rank("--scope", "out", "--top", 50, "--min-ild", 0.6)
    said = kept["manifest"]["diversity"]
    assert plain["manifest"]["diversity"] is None
    assert said["before"] < 0.6 <= said["after"]
    assert said["reached"] is True
    dims = [d for d in kept["items"][0] if d in kept["items"][0]["explanation"]["values"]]
    pairs = [sum(a[d] != b[d] for d in dims) / len(dims) for k, a in enumerate(kept["items"]) for b in kept["items"][:k]]
    assert sum(pairs) / len(pairs) == pytest.approx(said["after"])
    phi = [i["phi"] for i in kept["items"]]
    assert phi == sorted(phi, reverse=True)
    assert len({i["slice_id"] for i in kept["items"]} - {i["slice_id"] for i in plain["items"]}) == said["swaps"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--scope", "outside"), "allowed: in, out, both"),
        (("--scope", "out", "--extend", "time=duck"), "extended values are"),
        (("--scope", "out", "--extend", "time=night"), "inside the ODD already"),
        (("--scope", "out", "--extend", "thyme"), "dimensions are"),
        (("--scope", "out", "--extend", "question_category"), "no extended values"),
        (("--extend", "time"), "Values are added to the ODD only out of it"),
        (("--scope", "out", "--where", "time=duck"), "values of this scope"),
        (("--scope", "out", "--top", 0), "can be enumerated"),
        (("--scope", "out", "--similarity", "text", "--top", 10), "texts"),
        (("--min-ild", 2), "from 0 to 1"),
        (("--rarity", "logarithmic"), "paper or log"),
        (("--risk", "guess"), "neighbour or ridge"),
        (("--novel", "new"), "similar or unseen"),
        (("--beta", 0), "above 0"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(options: tuple[object, ...], told: str) -> None:
    assert told in refused(*options)


def test_the_manifest_says_how_exact_the_list_is_and_which_cosines_of_values_it_rests_on() -> None:
    data = rank("--scope", "out", "--top", 5, "--time-limit", 0)
    said = data["manifest"]["search"]
    assert said == {k: v for k, v in data["search"].items() if k not in ("seconds", "nodes")}
    assert said["complete"] is False
    assert len(data["manifest"]["value_cosines_sha256"]) == 64
    assert rank("--top", 5)["manifest"]["value_cosines_sha256"] is None


def test_an_empty_list_says_why_nothing_is_left() -> None:
    inside = [part for d in built_in().dimensions for part in ("--where", f"{d.name}={','.join(v.name for v in d.base)}")]
    result = CliRunner().invoke(app, ["rank", *DEMO, "--scope", "out", *inside], catch_exceptions=False)
    assert "No slice is missing under this filter: everything in it was tested or lies inside the ODD." in result.stdout

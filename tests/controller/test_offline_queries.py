"""The 15 questions of Appendix G and six more: bounds that any plan keeps, and the exact plan of the offline controller."""

from pathlib import Path

import pytest
import yaml

from core.controller import Planned
from core.controller.offline import plan_offline
from core.odd import built_in

DOCUMENT = yaml.safe_load((Path(__file__).parent / "queries.yaml").read_text(encoding="utf-8"))
CASES = [*DOCUMENT["queries"], *DOCUMENT["extra"]]


def sets(values):
    return {d: set(vs) for d, vs in values.items()}


def where(planned: Planned, op: str):
    step = planned.plan.last(op)
    return sets(step.where) if step else None


def extension(planned: Planned):
    step = planned.plan.last("out_of_odd")
    return sets(step.extend) if step else {}


def ops(planned: Planned):
    return [s.op for s in planned.plan.steps]


def broken_bounds(case, planned):
    """Every bound of a case that a plan breaks; the same for any controller."""
    did, out = ops(planned), []
    rest = iter(did)
    if not all(op in rest for op in case["require_order"]):
        out.append(f"{did} lacks {case['require_order']} in this order")
    out += [f"{op} must not run" for op in did if op not in {*case["require_order"], *case["optional"]} or op in case["forbid"]]
    filters = [f for f in (where(planned, "in_odd"), where(planned, "out_of_odd")) if f is not None]
    union = {d: {v for f in filters for v in f.get(d, ())} for f in filters for d in f}
    accepted = [sets(f) for f in (case["focus"], *case.get("focus_alternatives", ()))]
    if did and not any(f in accepted for f in (*filters, union)):
        out.append(f"filters {filters}, accepted {accepted}")
    out += broken_extension(case["extend"], extension(planned))
    acquire = planned.plan.last("acquire")
    if case.get("acquire"):
        sources = [a["source"] for a in (case["acquire"], *case.get("acquire_alternatives", ()))]
        if acquire is None or acquire.source not in sources or acquire.per_slice != case["acquire"].get("per_slice", 1):
            out.append(f"acquire {acquire}")
    if case["evaluate"] != "optional" and ("evaluate" in did) != case["evaluate"]:
        out.append("evaluate")
    return out


def broken_extension(bound, extend):
    if bound.get("none"):
        return [f"extends {extend}"] if extend else []
    out = [f"lacks {d}={vs}" for d, vs in bound.get("require", {}).items() if not set(vs) <= extend.get(d, set())]
    out += [f"lacks any of {d}={vs}" for d, vs in bound.get("require_any", {}).items() if not set(vs) & extend.get(d, set())]
    for d, vs in extend.items():
        allowed = {v for part in ("allow", "require", "require_any") for v in bound.get(part, {}).get(d, ())}
        if "*" not in allowed and not vs <= allowed:
            out.append(f"adds {d}={vs}")
    return out + (["too narrow"] if len(extend) < bound.get("min_dimensions", 0) else [])


def test_there_are_21_cases():
    assert (len(DOCUMENT["queries"]), len(DOCUMENT["extra"])) == (15, 6)


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(c["id"]))
def test_the_plan_keeps_the_bounds(case):
    assert broken_bounds(case, plan_offline(case["query"], built_in())) == []


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(c["id"]))
def test_the_plan_is_the_one_of_the_offline_controller(case):
    planned, exact = plan_offline(case["query"], built_in()), case["offline"]
    assert ops(planned) == exact["ops"]
    assert bool(planned.clarify) == exact.get("clarify", False)
    if "extend" in exact:
        assert extension(planned) == sets(exact["extend"])
    for name, op in (("in_odd_focus", "in_odd"), ("out_of_odd_focus", "out_of_odd")):
        if name in exact:
            assert where(planned, op) == sets(exact[name])
    if "focus" in exact:
        assert sets(exact["focus"]) in (where(planned, "in_odd"), where(planned, "out_of_odd"))
    assert set(exact.get("unsupported_terms", planned.plan.unsupported_terms)) == set(planned.plan.unsupported_terms)
    said = " ".join(planned.plan.notes).casefold()
    assert all(text in said for text in exact.get("note_contains", ()))


@pytest.mark.parametrize("case", CASES, ids=lambda c: str(c["id"]))
def test_readings_quote_the_question(case):
    planned = plan_offline(case["query"], built_in())
    assert all(r.phrase in case["query"] for r in planned.readings)

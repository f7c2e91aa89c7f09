"""The Campaign view without a browser: what it says is computed from the plan, and its address is the plan."""

from __future__ import annotations

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from core import operators
from core.acquisition import Request, plan, read_factors, read_quotas
from core.odd import infer_odd
from core.scoring import ScoringParameters, rank_missing
from core.seed_table import SeedTable
from core.settings import Settings
from core.similarity import exact_similarity
from core.storage import open_store
from pages.shared import gaps_campaign
from pages.shared import gaps_campaign_text as sentences
from pages.shared.gaps_campaign_form import factor_words, named_quota
from tests import apptest
from tests.apptest import open_page

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store():
    opened = open_store(Settings.from_environment())
    yield opened
    opened.close()


def page(store, **params: str | list[str]) -> AppTest:
    table = operators.load_demo(store)[0].id
    app = open_page("ranked_gaps", **({"view": "Campaign", "table": table} | params))
    assert not app.exception
    return app


def text(app: AppTest) -> str:
    return " ".join(unescape(apptest.text(app)).split())


def address(app: AppTest, key: str) -> list[str]:
    found = app.query_params.get(key, [])
    return [found] if isinstance(found, str) else list(found)


def plan_of(store, **options) -> operators.CampaignPlan:
    table = operators.load_demo(store)[0]
    seed = store.tables.load(table.id)
    result = operators.rank(seed, ScoringParameters(), Settings.from_environment(), top=operators.POOL)
    return operators.plan_campaign(result, Request(**options), store)


def saved(store, name: str = "Nights", slices: int = 4):
    return operators.save_campaign(store, name, plan_of(store, budget=slices), operators.load_demo(store)[0])


# The plan


def test_the_plan_is_what_the_operators_make(store):
    app = page(store)
    c = plan_of(store, budget=40).campaign
    said = text(app)
    assert f"Test 40 slices with 3,720 samples: {c.expected_failures:,.0f} of them would fail if the scorer's estimates were right." in said
    assert "Exact over 3,540 missing of 3,840 slices" in said
    assert "26 of 300 tested slices have fewer than 10 samples (provisional) and count as observed" in said
    assert "0 of 7,950 rows were rejected, 3,975 are of other models" in said
    assert "not a measurement" in said
    pairs = c.coverage[1]
    assert f"Pairs of values covered {pairs.after} of {pairs.possible} {pairs.before} before, {pairs.after - pairs.before} more" in said
    assert "3,500 Better ranks used up the budget, or left too little of it for them." in said
    frame = app.dataframe[0].value
    assert frame["#"].tolist() == c.rank.tolist()
    assert frame["samples"].tolist() == [93] * 40
    assert frame["fail"].tolist() == pytest.approx((93 * c.eps_hat).tolist())


def test_the_address_is_the_plan(store):
    quotas, costs = ["environment=highway:<=3", "time=day:>=50%"], ["time=night:2"]
    app = page(store, budget_in="Cost", budget_cost="2000", per_slice="Fixed", samples="10", quota=quotas, cost=costs)
    request = Request(2000, "cost", samples=10, factors=read_factors(costs), quotas=read_quotas(quotas))
    c = plan_of(store, **{k: getattr(request, k) for k in ("budget", "kind", "samples", "factors", "quotas")}).campaign
    assert app.dataframe[0].value["#"].tolist() == c.rank.tolist()
    said = text(app)
    assert "night × 2" in said
    assert "highway: at most 3 slices" in said
    assert "day: at least 50 % of the slices" in said
    assert f"highway at most 3 slices {c.quotas[0].have} met" in said
    assert "10 samples know an error rate to ±" in said


def test_costs_and_quotas_are_added_replaced_and_removed(store):
    app = page(store)
    app.selectbox(key="cost_dimension").set_value("time").run()
    app.selectbox(key="cost_value_time").set_value("night").run()
    app.number_input(key="new_times").set_value(3.0).run()
    app.button(key="do_add_cost").click().run()
    assert address(app, "cost") == ["time=night:3"]
    assert "night × 3" in text(app)
    app.number_input(key="new_times").set_value(4.0).run()
    app.button(key="do_add_cost").click().run()
    assert address(app, "cost") == ["time=night:4"]
    app.selectbox(key="quota_dimension").set_value("environment").run()
    app.selectbox(key="quota_value_environment").set_value("highway").run()
    app.button(key="do_add_quota").click().run()
    assert address(app, "quota") == ["environment=highway:<=10"]
    assert app.dataframe[0].value["d environment"].tolist().count("highway") <= 10
    app.button(key="remove_cost_0").click().run()
    assert address(app, "cost") == []
    assert "night ×" not in text(app)
    assert not app.exception


def test_a_quota_that_is_not_met_is_said(store):
    said = text(page(store, quota=["weather_visibility=snowy:>=2000"]))
    assert "snowy at least 2,000 slices 40 not met" in said
    assert "budget and the other quotas leave no room for more" in said


@pytest.mark.parametrize(
    "params, told",
    [
        ({"quota": ["time=dusky:3"]}, "a value of time"),
        ({"cost": ["time"]}, "A cost or a quota cannot be read."),
        ({"quota": ["time=night:1", "time=night:>=3"]}, "at most what time=night:<=1 allows"),
    ],
)
def test_an_address_that_makes_no_sense_is_told_and_can_be_mended(store, params, told):
    app = page(store, **params)
    said = text(app)
    assert "The campaign could not be planned." in said
    assert told in said
    while any(b.key.startswith("remove_") for b in app.button):
        next(b for b in app.button if b.key.startswith("remove_")).click().run()
    assert "Test 40 slices" in text(app)


def test_numbers_that_cannot_be_had_are_left_out_and_said(store):
    said = text(page(store, width="7", budget_in="Miles"))
    assert "The address asks for" in said
    assert "width = 7" in said
    assert "budget_in = Miles" in said
    assert "Test 40 slices with 3,720 samples" in said


def test_a_budget_that_pays_for_nothing_says_why(store):
    said = text(page(store, budget_in="Samples", budget_samples="50"))
    assert "Nothing can be planned: the cheapest slice takes 93 samples, the budget is 50." in said
    assert "No slice was taken." in said


# Saved campaigns


def test_a_plan_is_saved_opened_and_its_slices_are_left_out_afterwards(store):
    app = page(store)
    first = app.dataframe[0].value["#"].tolist()
    app.text_input(key="campaign_name").set_value("Winter").run()
    app.button(key="campaign_save_now").click().run()
    (x,) = store.campaigns.list()
    assert (x.name, x.slices, x.counts["planned"]) == ("Winter", 40, 40)
    assert address(app, "campaign") == [x.id]
    assert "Winter : 0 of 40 slices evaluated, 0 more acquired, 40 still planned." in text(app)
    assert app.dataframe[0].value["#"].tolist() == first
    app.button(key="campaign_back").click().run()
    said = text(app)
    assert "40 Other campaigns of this ODD have them." in said
    assert not set(app.dataframe[0].value["#"]) & set(first)
    app.toggle(key="leave_out").set_value(False).run()
    assert app.dataframe[0].value["#"].tolist() == first
    assert "40 slices of the plan are also in other campaigns." in text(app)


def test_a_name_that_is_taken_is_told_and_nothing_is_saved(store):
    saved(store, "Winter")
    app = page(store)
    app.text_input(key="campaign_name").set_value("winter").run()
    app.button(key="campaign_save_now").click().run()
    assert 'There is already a campaign called "winter".' in text(app)
    assert len(store.campaigns.list()) == 1


def test_the_headline_and_the_log_follow_the_status(store):
    x = saved(store)
    ids = [s.planned.slice_id for s in store.campaigns.load(x.id).slices]
    store.campaigns.set_status(x.id, ids[:1], "evaluated")
    store.campaigns.set_status(x.id, ids[1:2], "acquired", "<b>truck</b>")
    store.campaigns.set_status(x.id, ids[2:3], "dropped", "no snow")
    app = page(store, campaign=x.id)
    said = text(app)
    assert "Nights : 1 of 3 slices evaluated, 1 more acquired, 1 still planned; 1 slice dropped." in said
    assert "Asked for: at most 4 slices, 93 samples a slice (interval of 0.2, error 0.5)" in said
    assert "The last 3 of 3 changes, the newest first." in said
    frame = app.dataframe[0].value
    assert frame["status"].tolist() == ["evaluated", "acquired", "dropped", "planned"]
    assert frame["note"].tolist() == ["", "<b>truck</b>", "no snow", ""]
    assert "&lt;b&gt;truck" in " ".join(str(h.proto.body) for h in app.get("html"))
    assert all(b.disabled for b in app.button if b.key and b.key.startswith("set_"))  # nothing is selected


def test_rename_delete_undo_and_bin(store):
    x = saved(store)
    app = page(store)
    app.text_input(key=f"campaign-name-{x.id}").set_value("Days").run()
    app.button(key=f"rename-campaign-{x.id}").click().run()
    assert store.campaigns.get(x.id).name == "Days"
    app.button(key=f"delete-campaign-{x.id}").click().run()
    assert store.campaigns.get(x.id).deleted
    assert "Days lies in the bin; its slices are free for other campaigns." in text(app)
    app.button(key="undo-delete-campaign").click().run()
    assert not store.campaigns.get(x.id).deleted
    app.button(key=f"delete-campaign-{x.id}").click().run()
    app.button(key=f"restore-campaign-{x.id}").click().run()
    assert not store.campaigns.get(x.id).deleted
    assert not app.exception


def test_a_campaign_that_is_unknown_or_in_the_bin_is_told(store):
    said = text(page(store, campaign="nope"))
    assert "This campaign cannot be shown." in said
    assert 'There is no saved campaign "nope"' in said
    x = saved(store)
    store.campaigns.delete(x.id)
    assert "Nights lies in the bin, so its slices cannot be changed." in text(page(store, campaign=x.id))


def test_what_openscenario_does_not_say_stands_beside_the_download(store):
    said = text(page(store))
    assert "What OpenSCENARIO does not say" in said
    assert "road type intersection" in said
    assert "in part Friction is written" in said


# Sentences


def small(budget: float, kind: str = "slices", scheduled=(), **options):
    odd = infer_odd({"weather": ["fog", "sun"], "time": ["day", "night"]})
    seed = SeedTable.from_slices(odd, [{"weather": "fog", "time": "day"}], [9], [0.5])
    ranking = rank_missing(seed, ScoringParameters(), exact_similarity(odd, odd.active))
    return plan(ranking, Request(budget, kind, **options), ranking.ids[:scheduled] if scheduled else ())  # type: ignore[arg-type]


def test_one_slice_is_named_in_the_singular():
    assert "<b>1 slice</b> with 1 sample:" in str(sentences.headline(small(1, samples=1)))


def test_reasons_for_an_empty_plan():
    odd = infer_odd({"weather": ["fog", "sun"]})
    seed = SeedTable.from_slices(odd, [{"weather": "fog"}, {"weather": "sun"}], [5, 5], [0.5, 0.5])
    full = plan(rank_missing(seed, ScoringParameters(), exact_similarity(odd, odd.active)), Request(5))
    assert sentences.headline(full) == "Nothing is left to plan: there is no missing slice to choose from."
    assert sentences.headline(full, filtered=True) == "Nothing is left to plan: there is no missing slice under this filter to choose from."
    assert "other campaigns have all 3 slices" in sentences.headline(small(2, scheduled=3))
    assert "the cheapest slice takes 93 samples, the budget is 5" in sentences.headline(small(5, "samples"))
    assert "the quotas leave no room" in sentences.headline(small(2, quotas=read_quotas(["time=day:0", "time=night:0"])))


def test_a_plan_is_made_from_enough_slices_beside_those_of_other_campaigns():
    assert gaps_campaign.pool(0) == operators.POOL
    assert all(gaps_campaign.pool(n) - n >= operators.POOL // 2 for n in range(0, 5 * operators.POOL, 499))


def test_a_plan_that_took_every_ranked_slice_says_whether_more_are_missing():
    whole = small(100)
    assert len(whole) == whole.considered
    assert sentences.beyond(whole) == ""
    part = replace(whole, candidates=whole.considered + 7)
    assert "7 other missing slices can be planned once this plan is saved" in sentences.beyond(part)
    taken = replace(small(3, scheduled=3), candidates=10**6)
    assert f"other campaigns have the best {taken.considered:,} slices" in str(sentences.headline(taken))


def test_words_for_costs_and_quotas():
    odd = infer_odd({"weather": ["fog", "sun"], "lanes": ["1", "2"]})
    (a, b, c) = read_quotas(["weather=fog:1", "lanes=2:>=12.5%", "x=y:2"])
    assert named_quota(odd, a) == "fog: at most 1 slice"
    assert named_quota(odd, b) == "lanes: 2: at least 12.5 % of the slices"
    assert named_quota(odd, c) == "x=y: at most 2 slices"
    assert factor_words(odd, read_factors(["weather=fog:1.5"])[0]) == "fog × 1.5"
    assert [sentences.number(x) for x in (3.0, 0.3, 1234.5, 12.25)] == ["3", "0.3", "1,234.50", "12.25"]

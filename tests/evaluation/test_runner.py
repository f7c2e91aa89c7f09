"""Calls are paced, repeated where that helps, kept, and stopped where they must end."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from core.errors import InputError
from core.llm import Ask, Price
from core.llm.pace import Limits
from core.llm.runner import IN_A_ROW, Lane, Runner, StoppedError
from tests.loops import alone
from tests.stub_llm import Answer, StubServer, error, text

QUICK = {"first_wait": 0.001, "longest_wait": 0.002}


def ask(words: str = "hi") -> Ask:
    return Ask([{"role": "user", "content": words}], 10)


def work(store, limits: Limits, jobs, *, cancel=None, pause=None):
    """Run calls (endpoint, key) at once; gives what came of each, and the runner."""

    async def main():
        with store.calls.journal() as journal:
            runner = Runner(journal, limits, cancel=cancel, pause=pause)

            async def make():
                return ask()

            try:
                return await asyncio.gather(*(runner.ask(runner.lane(e), k, make) for e, k in jobs), return_exceptions=True), runner
            finally:
                await runner.close()

    return alone(main())


def keys(n: int) -> list[str]:
    return [f"{i:064d}" for i in range(n)]


def test_an_answer_that_is_kept_is_not_asked_for_again(store):
    with StubServer(["one", "two"]) as stub:
        end = stub.endpoint()
        first, runner = work(store, Limits(), [(end, k) for k in keys(2)])
        assert sorted(c.text for c in first) == ["one", "two"]
        assert (runner.budget.calls, runner.tally.cached) == (2, 0)
        again, runner = work(store, Limits(), [(end, k) for k in keys(2)])
        assert [c.text for c in again] == [c.text for c in first]
        assert (runner.budget.calls, runner.tally.cached, len(stub.requests)) == (0, 2, 2)


def test_the_same_call_asked_for_twice_at_once_is_sent_once(store):
    with StubServer(["one"]) as stub:
        found, runner = work(store, Limits(), [(stub.endpoint(), keys(1)[0])] * 5)
        assert {c.text for c in found} == {"one"}
        assert (len(stub.requests), runner.budget.calls) == (1, 1)


PASSING = [error(500, "x"), error(503, "x"), error(409, "x"), error(408, "x"), text("x" * 50, drop_after=20), Answer("no json at all")]


@pytest.mark.parametrize("failure", PASSING)
def test_what_may_pass_is_sent_again(store, failure):
    with StubServer([failure, "fine"]) as stub:
        (found,), runner = work(store, Limits(**QUICK), [(stub.endpoint(), keys(1)[0])])
        assert (found.status, found.text, found.attempts) == ("done", "fine", 2)
        assert (runner.tally.retries, runner.budget.calls) == (1, 2)
        assert store.calls.get(keys(1)[0]).attempts == 2


def test_after_five_attempts_a_call_has_failed_and_is_tried_again_by_the_next_run(store):
    with StubServer([error(500, "x")] * 5 + ["fine"]) as stub:
        (found,), _ = work(store, Limits(**QUICK), [(stub.endpoint(), keys(1)[0])])
        assert (found.status, found.attempts, len(stub.requests)) == ("failed", 5, 5)
        assert store.calls.get(keys(1)[0]).status == "failed"
        (found,), runner = work(store, Limits(**QUICK), [(stub.endpoint(), keys(1)[0])])
        assert (found.status, runner.tally.repeated) == ("done", 0)


@pytest.mark.parametrize("status", [400, 403, 422])
def test_other_refusals_are_not_sent_again(store, status):
    with StubServer([error(status, "no")] * 2) as stub:
        (found,), _ = work(store, Limits(**QUICK), [(stub.endpoint(), keys(1)[0])])
        assert found.status == "failed"
        assert len(stub.requests) == 1


def test_a_content_filter_is_the_last_word(store):
    with StubServer([error(400, "content_filter", code="content_filter")]) as stub:
        (found,), _ = work(store, Limits(**QUICK), [(stub.endpoint(), keys(1)[0])])
        assert found.status == "blocked"
        (found,), runner = work(store, Limits(**QUICK), [(stub.endpoint(), keys(1)[0])])
        assert (found.status, runner.tally.cached, len(stub.requests)) == ("blocked", 1, 1)


def test_the_whole_lane_waits_as_long_as_the_server_asks(store):
    with StubServer(lambda r: error(429, "slow", headers={"Retry-After": "0.4"}) if r.number == 0 else text("fine", delay=0.01)) as stub:
        found, runner = work(store, Limits(start=1, most=1), [(stub.endpoint(), k) for k in keys(3)])
        assert [c.status for c in found] == ["done"] * 3
        times = [r.at for r in stub.requests]
        assert times[1] - times[0] >= 0.39
        assert runner.tally.waits == pytest.approx(0.4, abs=0.05)


def test_refusals_for_coming_too_fast_halve_the_calls_in_flight(store):
    with StubServer(lambda r: error(429, "slow") if r.number < 8 else "fine") as stub:
        found, runner = work(store, Limits(start=8, most=8, **QUICK), [(stub.endpoint(), k) for k in keys(12)])
        assert {c.status for c in found} == {"done"}
        lane = next(iter(runner._lanes.values()))
        assert 1 <= lane.gate.limit <= 4


def test_a_wait_beyond_patience_pauses(store):
    with StubServer([error(429, "tomorrow", headers={"Retry-After": "4000"})]) as stub:
        (stop,), _ = work(store, Limits(), [(stub.endpoint(), keys(1)[0])])
        assert isinstance(stop, StoppedError)
        assert stop.why == "paused"
        assert "4,000 s" in str(stop)
        assert store.calls.get(keys(1)[0]).status == "failed"  # not left in flight, so it is not counted as repeated


@pytest.mark.parametrize("status", [401, 404])
def test_three_refusals_in_a_row_abort(store, status):
    with StubServer(lambda r: error(status, "no such key")) as stub:
        found, runner = work(store, Limits(start=1, most=1, **QUICK), [(stub.endpoint(), k) for k in keys(9)])
        assert len(stub.requests) == IN_A_ROW
        assert [getattr(x, "status", None) for x in found[:2]] == ["failed"] * 2
        assert all(isinstance(x, StoppedError) and x.why == "aborted" for x in found[2:])
        assert runner.stopped.why == "aborted"


def test_a_server_that_is_not_there_aborts_soon(store):
    with StubServer() as stub:
        end = stub.endpoint()
    found, _ = work(store, Limits(start=1, most=1, attempts=2, **QUICK), [(end, k) for k in keys(9)])
    assert [type(x).__name__ for x in found].count("StoppedError") == 9 - IN_A_ROW + 1


def test_a_budget_of_calls_is_kept_to_the_call_and_pauses(store):
    with StubServer(lambda r: "fine") as stub:
        found, runner = work(store, Limits(max_calls=7), [(stub.endpoint(), k) for k in keys(20)])
        assert len(stub.requests) == 7
        assert sum(isinstance(x, StoppedError) for x in found) == 13
        assert runner.stopped.why == "paused"
        more, _ = work(store, Limits(), [(stub.endpoint(), k) for k in keys(20)])
        assert {c.status for c in more} == {"done"}
        assert len(stub.requests) == 20


def test_kept_answers_come_out_though_the_budget_is_used(store):
    with StubServer(lambda r: "fine") as stub:
        work(store, Limits(), [(stub.endpoint(), k) for k in keys(3)])
        found, _ = work(store, Limits(max_calls=0), [(stub.endpoint(), k) for k in keys(4)])
        assert [getattr(x, "status", "stopped") for x in found] == ["done"] * 3 + ["stopped"]


def test_a_cap_on_cost_is_never_passed(store):
    price = Price(input=1.0, output=1.0)  # a call uses 15 tokens by the stub's word, 11 at most by the estimate before the first
    with StubServer(lambda r: text("fine", delay=0.01)) as stub:
        end = stub.endpoint(price=price)
        _, runner = work(store, Limits(max_cost=100e-6), [(end, k) for k in keys(20)])
        assert runner.budget.cost == pytest.approx(90e-6)
        assert len(stub.requests) == 6
    with pytest.raises(InputError, match="no price"):
        work(store, Limits(max_cost=1.0), [(stub.endpoint(), keys(1)[0])])


def test_cancelling_sends_nothing_more_and_keeps_what_came(store):
    done = []

    def script(r):
        done.append(r)
        return text("fine", delay=0.01)

    with StubServer(script) as stub:
        found, runner = work(store, Limits(start=2, most=2), [(stub.endpoint(), k) for k in keys(50)], cancel=lambda: len(done) >= 10)
        kept = [x for x in found if not isinstance(x, StoppedError)]
        assert len(kept) == len(stub.requests) == store.calls.counts()["done"]
        assert 10 <= len(kept) <= 12
        assert runner.stopped.why == "cancelled"


def test_a_pause_holds_calls_until_it_ends(store):
    until = time.monotonic() + 0.3
    with StubServer(["fine"]) as stub:
        (found,), _ = work(store, Limits(), [(stub.endpoint(), keys(1)[0])], pause=lambda: time.monotonic() < until)
        assert found.status == "done"
        assert stub.requests[0].at >= until


def test_a_rate_a_minute_is_kept(store):
    with StubServer(lambda r: "fine") as stub:
        limits = Limits(start=20, most=20, requests_per_minute=600)  # ten a second, the first hundred at once
        start = time.monotonic()
        work(store, limits, [(stub.endpoint(), k) for k in keys(104)])
        assert time.monotonic() - start >= 0.35
        assert max(r.at for r in stub.requests) - start >= 0.35


def test_two_addresses_of_one_model_share_the_calls(store):
    with StubServer(lambda r: text("a", delay=0.02)) as a, StubServer(lambda r: text("b", delay=0.02)) as b:
        end = a.endpoint()
        both = replace(end, base_url=f"{a.url}, {b.url}")
        found, _ = work(store, Limits(start=8, most=8), [(both, k) for k in keys(40)])
        assert {c.status for c in found} == {"done"}
        assert len(a.requests) + len(b.requests) == 40
        assert abs(len(a.requests) - len(b.requests)) <= 8


def test_a_row_says_in_flight_before_the_call_is_sent(store):
    seen = []

    def script(r):
        seen.append(store.calls.get(keys(1)[0]).status)
        return "fine"

    with StubServer(script) as stub:
        work(store, Limits(), [(stub.endpoint(), keys(1)[0])])
    assert seen == ["in_flight"]
    assert store.calls.get(keys(1)[0]).status == "done"


def test_a_call_that_waits_for_its_next_attempt_is_not_in_flight(store):
    seen = []

    def script(r):
        seen.append(store.calls.counts())
        return error(500, "x") if r.number == 0 else "fine"

    with StubServer(script) as stub:
        statuses = []
        found, _ = work(
            store,
            Limits(first_wait=0.4, longest_wait=0.4),
            [(stub.endpoint(), keys(1)[0])],
            cancel=lambda: statuses.append(getattr(store.calls.get(keys(1)[0]), "status", "")) or False,
        )
    assert found[0].attempts == 2
    assert seen == [{"in_flight": 1}] * 2
    assert set(statuses) <= {"", "failed"}


def test_calls_left_in_flight_are_repeated_and_counted(store):
    store.calls.begin(keys(2))
    with StubServer(lambda r: "fine") as stub:
        found, runner = work(store, Limits(), [(stub.endpoint(), k) for k in keys(4)])
    assert (runner.tally.repeated, runner.budget.calls) == (2, 4)
    assert [c.attempts for c in (store.calls.get(k) for k in keys(4))] == [2, 2, 1, 1]
    assert len(found) == 4


def test_what_a_server_refused_is_left_out_and_told(store):
    def script(r):
        return error(400, "Unsupported parameter: 'temperature'", param="temperature") if "temperature" in r.body else "fine"

    with StubServer(script) as stub:
        (found,), runner = work(store, Limits(), [(stub.endpoint(), keys(1)[0])])
        assert found.text == "fine"
        assert any("temperature" in x for x in runner.tally.adapted)
        ((end, profile),) = runner.learned()
        assert end.profile.temperature
        assert not profile.temperature


def test_a_lane_goes_to_the_address_with_fewer_calls():
    with StubServer() as stub:
        lane = Lane(replace(stub.endpoint(), base_url="http://a/v1 http://b/v1"), Limits())
    assert [c.endpoint.base_url for c in lane.clients] == ["http://a/v1", "http://b/v1"]

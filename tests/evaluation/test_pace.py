"""How fast, how much, and under which key calls are made."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InputError
from core.llm import Ask, Price, Usage
from core.llm.calls import addresses, call_key, host_of
from core.llm.pace import Bucket, Budget, Gate, Limits, Need, need_of
from tests.loops import alone
from tests.stub_llm import StubServer

# Gate


def test_one_more_goes_in_after_20_successes_and_half_as_many_after_a_refusal():
    async def main():
        gate = Gate(4, 6)
        for _ in range(3):
            for _ in range(19):
                gate.succeeded()
            assert gate.limit == 4
            gate.refused(gate._era)
            gate.limit, gate._streak = 4, 0
        for _ in range(20):
            gate.succeeded()
        assert gate.limit == 5
        for _ in range(200):
            gate.succeeded()
        assert gate.limit == 6  # at most
        marks = [await gate.enter() for _ in range(6)]
        for m in marks:
            gate.refused(m)
        assert gate.limit == 3  # a burst that was sent under one limit halves it once
        gate.refused(marks[0] + 1)
        gate.refused(marks[0] + 2)
        gate.refused(marks[0] + 3)
        assert gate.limit == 1

    alone(main())


@given(st.integers(1, 5), st.integers(1, 40))
def test_never_more_are_inside_than_the_limit(limit, jobs):
    async def main():
        gate, most = Gate(limit, limit), 0

        async def job():
            nonlocal most
            await gate.enter()
            most = max(most, gate.inside)
            await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(*(job() for _ in range(jobs)))
        assert (most, gate.inside) == (min(limit, jobs), 0)

    alone(main())


def test_who_gives_up_waiting_takes_no_place():
    async def main():
        gate = Gate(1, 1)
        await gate.enter()
        waiting = [asyncio.create_task(gate.enter()) for _ in range(2)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        gate.leave()
        await asyncio.wait_for(waiting[1], 1)
        assert gate.inside == 1

    alone(main())


# Buckets, budget


def test_a_bucket_gives_ten_seconds_worth_and_then_makes_wait(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    bucket = Bucket(60)  # one a second
    assert [bucket.take(1) for _ in range(10)] == [0.0] * 10
    assert bucket.take(1) == pytest.approx(1.0)
    assert bucket.take(2) == pytest.approx(3.0)
    clock[0] += 3
    assert bucket.take(1) == pytest.approx(1.0)
    bucket.give_back(1)
    clock[0] += 100
    assert bucket.take(10) == 0.0
    assert Bucket(None).take(10**9) == 0.0


def test_a_budget_holds_back_what_calls_in_flight_may_need():
    price = Price(1.0, 1.0)
    budget = Budget(Limits(max_cost=3e-6))
    first = budget.reserve(Need(2, 2e-6))
    assert budget.reserve(Need(2, 2e-6)) == "wait"
    budget.settle(first, Usage(1, 0), price)
    assert isinstance(budget.reserve(Need(2, 2e-6)), int)
    assert budget.cost == 1e-6
    told = budget.reserve(Need(9, 9e-6))
    assert isinstance(told, str)
    assert "budget of 3e-06 in cost" in told


@pytest.mark.parametrize(("limits", "word"), [({"max_calls": 2}, "calls"), ({"max_tokens": 25}, "tokens")])
def test_a_budget_ends_and_says_which(limits, word):
    budget = Budget(Limits(**limits))
    for _ in range(2):
        budget.settle(budget.reserve(Need(10, 0)), Usage(5, 5), None)
    told = budget.reserve(Need(10, 0))
    assert isinstance(told, str)
    assert word in told


def test_limits_out_of_range_are_all_named():
    with pytest.raises(InputError) as e:
        Limits(start=9, most=4, requests_per_minute=0, max_calls=-1, attempts=0)
    assert [p.column for p in e.value.problems] == ["start", "requests_per_minute", "max_calls", "attempts"]


def test_images_count_in_the_need_of_a_call():
    parts = [{"type": "image_url", "image_url": {"url": "data:" + "x" * 10_000}}, {"type": "text", "text": "a" * 400}]
    need = need_of(Ask([{"role": "user", "content": parts}], 50), Price(2.0, 4.0))
    assert need.tokens == 1_600 + 100 + 50
    assert need.cost == pytest.approx((1_700 * 2 + 50 * 4) / 1e6)


# Keys


def test_a_key_rests_on_what_shapes_the_answer_and_on_nothing_else():
    with StubServer() as stub:
        end = stub.endpoint(key="secret")
    base = call_key(end, "vlm", "p", {"q": "a"}, ["1"], {"t": 0})
    for same in (replace(end, key="other"), replace(end, label="L"), replace(end, price=Price(1.0))):
        assert call_key(same, "vlm", "p", {"q": "a"}, ["1"], {"t": 0}) == base
    others = [
        call_key(replace(end, model="m2"), "vlm", "p", {"q": "a"}, ["1"], {"t": 0}),
        call_key(replace(end, base_url="http://other/v1"), "vlm", "p", {"q": "a"}, ["1"], {"t": 0}),
        call_key(end, "judge", "p", {"q": "a"}, ["1"], {"t": 0}),
        call_key(end, "vlm", "p2", {"q": "a"}, ["1"], {"t": 0}),
        call_key(end, "vlm", "p", {"q": "b"}, ["1"], {"t": 0}),
        call_key(end, "vlm", "p", {"q": "a"}, ["1", "1"], {"t": 0}),
        call_key(end, "vlm", "p", {"q": "a"}, ["1"], {"t": 1}),
    ]
    assert len({base, *others}) == 8
    assert host_of(replace(end, base_url="https://me:pw@host:1/v1/, http://b/v1")) == "host:1/v1"
    assert addresses(replace(end, base_url="http://a/v1, http://b/v1")) == ("http://a/v1", "http://b/v1")

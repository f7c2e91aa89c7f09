"""Trying again: for what may pass, as the server asks, within limits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.llm import Client, ModelError, Retry, awith_retries, with_retries
from core.llm.messages import Ask
from core.llm.retry import AGAIN, wait_before
from tests.loops import alone
from tests.stub_llm import error


def failing(errors, result="done"):
    """A call that raises each error once, then gives a result; and the list of what is left."""
    left = list(errors)

    def call():
        if left:
            raise left.pop(0)
        return result

    return call


def test_what_may_pass_is_tried_until_it_does():
    waits = []
    call = failing([ModelError("x", k) for k in ("rate", "timeout", "connection", "cut")])
    assert with_retries(call, Retry(attempts=5), sleep=waits.append) == "done"
    assert len(waits) == 4
    assert all(0 <= w <= 0.5 * 2**i for i, w in enumerate(waits))


@pytest.mark.parametrize("kind", ["auth", "not_found", "bad_request", "blocked", "unreadable"])
def test_what_will_not_pass_is_not_tried_again(kind):
    waits = []
    with pytest.raises(ModelError):
        with_retries(failing([ModelError("x", kind)]), sleep=waits.append)
    assert waits == []
    assert kind not in AGAIN


def test_after_the_last_attempt_the_last_error_is_raised():
    waits = []
    with pytest.raises(ModelError, match="second"):
        with_retries(
            failing([ModelError("first", "server"), ModelError("second", "server"), ModelError("third", "server")]),
            Retry(2),
            sleep=waits.append,
        )
    assert len(waits) == 1


def test_a_server_that_asks_for_a_wait_gets_it_and_no_more_than_the_jitter_on_top():
    waits, told = [], []
    call = failing([ModelError("x", "rate", 429, retry_after=3.0)])
    with_retries(call, Retry(base=0.5), sleep=waits.append, on_wait=lambda e, s: told.append((e.kind, s)))
    assert told == [("rate", waits[0])]
    assert 3.0 <= waits[0] <= 3.5


def test_a_server_that_asks_for_too_long_a_wait_is_not_waited_for():
    with pytest.raises(ModelError):
        with_retries(failing([ModelError("x", "rate", 429, retry_after=121.0)]), sleep=pytest.fail)


def test_no_call_begins_after_the_time_is_up():
    assert wait_before(ModelError("x", "server"), 1, Retry(total=10.0), elapsed=10.0) is None
    assert wait_before(ModelError("x", "rate", 429, 5.0), 1, Retry(total=10.0), elapsed=6.0) is None
    assert wait_before(ModelError("x", "server"), 1, Retry(total=10.0), elapsed=0.0, draw=lambda: 0.5) == 0.25


@given(st.integers(1, 50), st.floats(0, 1, exclude_max=True))
def test_waits_grow_to_the_cap_and_no_further(attempt, drawn):
    policy = Retry(attempts=100)
    wait = wait_before(ModelError("x", "server"), attempt, policy, 0.0, lambda: drawn)
    assert wait is not None
    assert 0 <= wait <= min(policy.cap, policy.base * 2 ** (attempt - 1))


def test_other_exceptions_go_through():
    with pytest.raises(ZeroDivisionError):
        with_retries(failing([ZeroDivisionError()]), sleep=pytest.fail)


def test_the_asynchronous_form_does_the_same(stub_llm):
    stub_llm.script = [error(429, "slow", headers={"Retry-After": "0.05"}), error(503, "busy"), "done"]
    told = []

    async def run():
        async with Client(stub_llm.endpoint()) as client:
            ask = Ask([{"role": "user", "content": "x"}], 8)
            return await awith_retries(lambda: client.achat(ask), Retry(base=0.01), on_wait=lambda e, s: told.append((e.kind, s)))

    assert alone(run()).text == "done"
    assert [k for k, _ in told] == ["rate", "server"]
    assert told[0][1] >= 0.05
    assert stub_llm.asked[1].at - stub_llm.asked[0].at >= 0.05
    with pytest.raises(ModelError):
        alone(awith_retries(failing([ModelError("x", "auth")])))

"""The test of a connection says of a model that looks at pictures how it can be asked yes or no."""

from __future__ import annotations

import pytest

from core.error_slices.vision.probe import known_ability
from core.operators.connection_check import WAYS, check_connection
from tests.error_slices.vision_scene import ABLE, red
from tests.stub_llm import error, text


def script(way):
    def answer(request):
        if red(request) is not None:
            return way(request)
        return text('{"time": "night"}' if "JSON" in request.last else "Red." if "colour" in request.last else "OK")

    return answer


@pytest.mark.parametrize(("way", "kind"), [("logprob", "logprob"), ("words", "sampled")])
def test_it_says_how_yes_and_no_are_got_and_remembers_it(store, stub_llm, way, kind):
    stub_llm.script = script(ABLE[way])
    found = check_connection(store, stub_llm.endpoint(), "tagger")
    assert found.ok
    assert found.findings[-1] == WAYS[kind]
    assert known_ability(store, stub_llm.endpoint()).kind == kind


def test_a_model_that_cannot_be_asked_is_still_fit_to_tag(store, stub_llm):
    stub_llm.script = script(lambda r: error(400, "one picture a day"))
    found = check_connection(store, stub_llm.endpoint(), "tagger")
    assert found.ok
    assert "one picture a day" in found.findings[-1]
    assert known_ability(store, stub_llm.endpoint()) is None


def test_other_roles_are_tested_as_before(store, stub_llm):
    stub_llm.script = script(ABLE["logprob"])
    assert check_connection(store, stub_llm.endpoint(), "judge").ok
    assert not any(red(r) is not None for r in stub_llm.asked)

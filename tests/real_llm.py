"""The real server that tests of models run against as well, where the environment names one."""

from __future__ import annotations

import os

from core.llm import Client, Endpoint, endpoint_for


def real_endpoint() -> Endpoint | None:
    """What the environment names as the tests are collected; its first model where none is named."""
    env = dict(os.environ)
    url = env.get("ODDYSSEY_LLM_BASE_URL")
    if url and not env.get("ODDYSSEY_LLM_MODEL"):
        with Client(Endpoint(url, "any", key=env.get("ODDYSSEY_LLM_API_KEY", ""))) as client:
            env["ODDYSSEY_LLM_MODEL"] = client.models()[0]
    return endpoint_for("llm", None, env)

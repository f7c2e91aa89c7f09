"""The test of a connection: what its server can do for its role, told in words and remembered."""

from __future__ import annotations

from dataclasses import replace

from core.error_slices.vision.probe import keep_ability, probe_ability
from core.errors import InputError
from core.llm import Endpoint, ModelError, Probe, Role, probe
from core.storage import Store

WAYS = {
    "logprob": "Yes and no are weighed by their token probabilities.",
    "sampled": "Yes and no are counted over several answers.",
    "verbalised": "How sure it is of yes or no is asked in words.",
}


def check_connection(store: Store, endpoint: Endpoint, role: Role) -> Probe:
    """What a server can do; of a model that looks at pictures also how yes and no are got out of it.

    Args:
        store: Remembers how the model answers yes or no.
        endpoint: Where it is.
        role: What it is to serve.
    """
    found = probe(endpoint, role)
    if role != "tagger" or not found.ok:
        return found
    try:
        ability, profile = probe_ability(replace(endpoint, profile=found.profile))
    except (InputError, ModelError) as e:
        return replace(found, findings=(*found.findings, f"Error slices cannot be matched by it: {e}"))
    keep_ability(store, replace(endpoint, profile=profile), ability, profile)
    more = (*(f for f in ability.findings if f not in found.findings), WAYS[ability.kind])
    return replace(found, profile=profile, findings=(*found.findings, *more))

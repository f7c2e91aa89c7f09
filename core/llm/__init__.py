"""Models behind OpenAI-compatible servers: where they are, what is asked, what comes back."""

from core.llm import connections
from core.llm.client import Client
from core.llm.connections import Connection, endpoint_for, endpoints_for
from core.llm.endpoint import ROLES, Endpoint, Mode, Price, Profile, Role
from core.llm.messages import Ask, Failure, ModelError, Reply, ToolCall, Usage
from core.llm.probe import Probe, probe
from core.llm.retry import Retry, awith_retries, with_retries

__all__ = [
    "ROLES",
    "Ask",
    "Client",
    "Connection",
    "Endpoint",
    "Failure",
    "Mode",
    "ModelError",
    "Price",
    "Probe",
    "Profile",
    "Reply",
    "Retry",
    "Role",
    "ToolCall",
    "Usage",
    "awith_retries",
    "connections",
    "endpoint_for",
    "endpoints_for",
    "probe",
    "with_retries",
]

"""Models behind OpenAI-compatible servers: where they are, what is asked, what comes back."""

from core.llm.client import Client
from core.llm.endpoint import ROLES, Endpoint, Mode, Price, Profile, Role
from core.llm.messages import Ask, Failure, ModelError, Reply, ToolCall, Usage

__all__ = [
    "ROLES",
    "Ask",
    "Client",
    "Endpoint",
    "Failure",
    "Mode",
    "ModelError",
    "Price",
    "Profile",
    "Reply",
    "Role",
    "ToolCall",
    "Usage",
]

"""Which endpoint serves which role: from the environment, else from connections saved in the workspace.

A connection holds the name of the environment variable that has the key. The key itself is read when a call is about to be made; it is
never saved, shown or logged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from core.digest import sha256_json
from core.errors import InputError, Problem
from core.llm.endpoint import ROLES, Endpoint, Price, Profile, Role

LENDERS: Mapping[Role, Role] = {"judge": "llm", "tagger": "vlm"}
"""A role without an endpoint of its own borrows that of another; the endpoint says so."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY")
"""Only such variables may be sent to a server, so that no connection can be made to give away another secret of the machine."""


class Preferences(Protocol):
    """What the workspace remembers."""

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key."""

    def set(self, key: str, value: Any) -> None:
        """Give a key a value."""


class Workspace(Protocol):
    """What has preferences: the store."""

    @property
    def preferences(self) -> Preferences:
        """Small values by key."""


@dataclass(frozen=True)
class Connection:
    """An endpoint as it is saved: everything but the key.

    Attributes:
        role: What it serves.
        base_url: Such as http://localhost:8000/v1; several servers of one model with commas between.
        model: Name on the wire.
        label: Name under which its results count; the model's where none is given.
        kind, api_version: For Azure.
        key_variable: Environment variable that holds the key, "" if the server wants none.
        profile: How it speaks.
        price: None if no cost is to be told.
    """

    role: Role
    base_url: str
    model: str
    label: str = ""
    kind: Literal["openai", "azure"] = "openai"
    api_version: str = ""
    key_variable: str = ""
    profile: Profile = field(default_factory=Profile)
    price: Price | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready data; `connection_of` gives it back."""
        return asdict(self)

    def endpoint(self, environ: Mapping[str, str] | None = None) -> Endpoint:
        """The endpoint with its key from the environment."""
        env = os.environ if environ is None else environ
        return Endpoint(
            self.base_url,
            self.model,
            key=env.get(self.key_variable, "").strip() if self.key_variable else "",
            label=self.label,
            kind=self.kind,
            api_version=self.api_version,
            profile=self.profile,
            price=self.price,
        )


def connection_of(data: Mapping[str, Any]) -> Connection:
    """A connection of plain data, checked and tidied.

    Raises:
        InputError: Something is missing or wrong; everything is named.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        made = TypeAdapter(Connection).validate_python(dict(data))
    except ValidationError as e:
        found = [Problem(None, ".".join(map(str, err["loc"])), str(err.get("input"))[:60], err["msg"]) for err in e.errors()]
        raise InputError("The connection cannot be used.", found) from e
    return checked(made)


def checked(connection: Connection) -> Connection:
    """The connection without blanks around its texts and with a tidy address.

    Raises:
        InputError: Something is missing or wrong; everything is named.
    """
    texts = {k: getattr(connection, k).strip() for k in ("base_url", "model", "label", "api_version", "key_variable")}
    # Several addresses serve one model, least busy first (core.llm.runner).
    found = [re.sub(r"/(chat/completions|images/generations|models)?/*$", "", a) for a in texts["base_url"].replace(",", " ").split()]
    texts["base_url"] = ",".join(found)
    made = replace(connection, **texts)
    out = [p for a in found or [""] for p in _address_problems(a)]
    if not made.model:
        out.append(Problem(None, "model", "", "the name of the model, as the server knows it", kind="missing"))
    if made.key_variable and not _VARIABLE.fullmatch(made.key_variable):
        looks = "a key" if not re.fullmatch(r"[A-Z][A-Z0-9_]*", made.key_variable) else made.key_variable
        allowed = "the name of an environment variable that ends in _API_KEY, such as OPENAI_API_KEY; never the key itself"
        out.append(Problem(None, "key_variable", looks, allowed))
    if not 0 < made.profile.timeout <= 3_600:
        out.append(Problem(None, "profile.timeout", f"{made.profile.timeout:g}", "more than 0 and at most 3600 seconds"))
    if out:
        raise InputError("The connection cannot be used.", out)
    return made


def _address_problems(url: str) -> list[Problem]:
    allowed = "an address such as http://localhost:8000/v1"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return [Problem(None, "base_url", url[:80], allowed)]
    if parts.username or parts.password or parts.query or parts.fragment:
        # Not repeated: such a part may hold a key.
        return [
            Problem(None, "base_url", f"{parts.scheme}://{host or ''}…", f"{allowed}, without a user name, a question mark or a key in it")
        ]
    return [] if parts.scheme in ("http", "https") and host else [Problem(None, "base_url", url[:80], allowed)]


def from_environment(role: Role, environ: Mapping[str, str] | None = None) -> Connection | None:
    """The connection that ODDYSSEY_<ROLE>_BASE_URL, _MODEL and _API_KEY describe, None without an address.

    _LABEL, _KIND ("openai" or "azure"), _API_VERSION and _TIMEOUT (seconds) may be set as well.

    Raises:
        InputError: An address without a model, or something that cannot be used.
    """
    env = os.environ if environ is None else environ
    said = {
        k: env.get(f"ODDYSSEY_{role.upper()}_{k.upper()}", "").strip()
        for k in ("base_url", "model", "label", "kind", "api_version", "timeout")
    }
    if not said["base_url"]:
        return None
    data = {k: v for k, v in said.items() if v and k != "timeout"}
    if said["timeout"]:
        data["profile"] = {"timeout": said["timeout"]}  # type: ignore[assignment]
    try:
        return connection_of({"role": role, "model": "", "key_variable": f"ODDYSSEY_{role.upper()}_API_KEY", **data})
    except InputError as e:
        raise InputError(f"The environment variables ODDYSSEY_{role.upper()}_… name an endpoint that cannot be used.", e.problems) from e


def saved(role: Role, store: Workspace) -> Connection | None:
    """The connection that was saved for a role, None if there is none."""
    data = store.preferences.get(_key(role))
    return connection_of({**data, "role": role}) if data else None


def save(store: Workspace, connection: Connection) -> Connection:
    """Save a connection for its role, in place of an earlier one.

    Raises:
        InputError: It cannot be used.
    """
    made = checked(connection)
    store.preferences.set(_key(made.role), made.as_dict())
    return made


def forget(store: Workspace, role: Role) -> None:
    """Remove the saved connection of a role."""
    store.preferences.set(_key(role), None)


def learn(store: Workspace, endpoint: Endpoint, profile: Profile) -> None:
    """Keep what was learned of a server: in every saved connection that leads there, and for connections from the environment."""
    for role in ROLES:
        found = saved(role, store)
        if found and (found.base_url, found.model) == (endpoint.base_url, endpoint.model) and found.profile != profile:
            save(store, replace(found, profile=profile))
    store.preferences.set(_profile_key(endpoint.base_url, endpoint.model), asdict(profile))


def connection_for(role: Role, store: Workspace | None, environ: Mapping[str, str] | None = None) -> tuple[Connection | None, str]:
    """The connection of a role itself, and where it comes from: "environment", "saved", or "" if there is none."""
    found = from_environment(role, environ)
    if found is not None:
        learned = store.preferences.get(_profile_key(found.base_url, found.model)) if store else None
        if learned:
            profile = connection_of({**found.as_dict(), "profile": learned}).profile
            given = os.environ if environ is None else environ
            fixed = given.get(f"ODDYSSEY_{role.upper()}_TIMEOUT", "").strip()
            found = replace(found, profile=replace(profile, timeout=found.profile.timeout) if fixed else profile)
        return found, "environment"
    found = saved(role, store) if store else None
    return found, "saved" if found else ""


def endpoint_for(role: Role, store: Workspace | None = None, environ: Mapping[str, str] | None = None) -> Endpoint | None:
    """The endpoint that serves a role: of its own, else that of the role that lends to it (`borrowed` says which), else None.

    Args:
        role: What it is for.
        store: Workspace with saved connections, None to look at the environment only.
        environ: The environment; that of the process if None.

    Raises:
        InputError: A connection cannot be used as it stands.
    """
    found, _ = connection_for(role, store, environ)
    if found:
        return found.endpoint(environ)
    lender = LENDERS.get(role)
    lent = endpoint_for(lender, store, environ) if lender else None
    return replace(lent, borrowed=lender or "") if lent else None


def endpoints_for(store: Workspace | None = None, environ: Mapping[str, str] | None = None) -> dict[Role, Endpoint]:
    """The endpoint of every role that has one."""
    found = {role: endpoint_for(role, store, environ) for role in ROLES}
    return {role: e for role, e in found.items() if e is not None}


def _key(role: Role) -> str:
    return f"connection.{role}"


def _profile_key(base_url: str, model: str) -> str:
    return f"profile.{sha256_json([base_url, model])[:16]}"

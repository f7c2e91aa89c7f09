"""Fetches an image that a server answers with an address for: little, only from where it may come, and without the key."""

from __future__ import annotations

from urllib.parse import urlsplit

from core.llm.endpoint import Endpoint
from core.llm.messages import ModelError

MAX_BYTES = 32 << 20
"""Size of an image at most."""
_KINDS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg"}


def image_kind(data: bytes) -> str:
    """Ending of the file by the first bytes, "" if it is no image of a kind that is taken: PNG, JPEG, WebP."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for magic, kind in _KINDS.items() if data.startswith(magic)), "")


def checked_image(data: bytes) -> bytes:
    """The bytes of an image.

    Raises:
        ModelError: They are none of a kind that is taken, or too many.
    """
    if len(data) > MAX_BYTES:
        raise ModelError(f"The server sent more than {MAX_BYTES >> 20} MB for an image.", "unreadable")
    if not image_kind(data):
        raise ModelError("What the server sent is no image (PNG, JPEG or WebP).", "unreadable")
    return data


def refused(url: str, endpoint: Endpoint) -> str:
    """Why an address may not be fetched, "" if it may: only by HTTP, from the server's own host or one that the profile names."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "an address that is none"
    own = {h for h in (urlsplit(a).hostname for a in endpoint.base_url.replace(",", " ").split()) if h}
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.password:
        return "an address that is not taken (only http and https, without a user)"
    if host not in own | {h.strip().lower() for h in endpoint.profile.image_hosts}:
        return f"the address of another host, {host[:100]}; images are only fetched from {', '.join(sorted(own))}"
    return ""


async def download(url: str, endpoint: Endpoint) -> bytes:
    """The image at an address; redirects are not followed, and neither key nor cookies are sent.

    Raises:
        ModelError: It may not be fetched, does not come, is too large, or is no image.
    """
    import httpx2 as httpx  # comes with the openai package

    if why := refused(url, endpoint):
        raise ModelError(f"The server answered with {why}.", "unreadable")
    data = bytearray()
    try:
        async with (
            httpx.AsyncClient(timeout=endpoint.profile.timeout, follow_redirects=False) as client,
            client.stream("GET", url, headers={"Accept": "image/*"}) as answer,
        ):
            if answer.status_code != 200:
                raise ModelError(f"The image could not be fetched: the server answered {answer.status_code}.", "server", answer.status_code)
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > MAX_BYTES:
                    break
    except httpx.TimeoutException as e:
        raise ModelError("The image did not come in time.", "timeout") from e
    except (httpx.HTTPError, httpx.InvalidURL) as e:
        raise ModelError(f"The image could not be fetched: {e or type(e).__name__}.", "connection") from e
    return checked_image(bytes(data))

"""What an exception of the openai client means: the kind of failure, in words, with the wait that the server asked for."""

from __future__ import annotations

import math
import re
import time
from email.utils import parsedate_to_datetime
from typing import Any

from core.llm.messages import Failure, ModelError

_BLOCKED = re.compile(r"content[_ ]?filter|content[_ ]policy|responsibleaipolicy|moderation_blocked|safety system", re.I)
_QUOTA = re.compile(r"insufficient_quota|billing|credit balance|out of credits", re.I)
_CUT = ("RemoteProtocolError", "ReadError", "StreamClosed", "ClientPayloadError", "IncompleteRead")
_HINTS = {
    "enable-auto-tool-choice": " On vLLM, tools need --enable-auto-tool-choice and --tool-call-parser.",
}
_WORDS: dict[Failure, str] = {
    "connection": "No server answers at {url}",
    "timeout": "The server did not answer within {timeout:g} s",
    "rate": "The server asked to slow down (429)",
    "auth": "The server refused the key ({status})",
    "not_found": "The server knows no such model or address ({status})",
    "bad_request": "The server refused the request ({status})",
    "blocked": "The server's content filter refused the request ({status})",
    "server": "The server failed ({status})",
    "cut": "The connection broke off in the middle of the answer",
    "unreadable": "The answer of the server could not be read",
}


def from_status(status: int, text: str, code: str = "") -> Failure:
    """Kind of failure of an HTTP status with the server's text."""
    both = f"{code} {text}"
    if status in (400, 403, 422) and _BLOCKED.search(both):
        return "blocked"
    if status in (401, 402, 403) or (status == 429 and _QUOTA.search(both)):
        return "auth"
    if status in (404, 408, 429):
        return "not_found" if status == 404 else "timeout" if status == 408 else "rate"
    if status == 501 or (status == 500 and re.search(r"not supported|unsupported", text, re.I)):
        return "bad_request"  # llama-server answers so to images it cannot read; asking again does not help
    return "bad_request" if status < 500 and status != 409 else "server"


def retry_after(headers: Any) -> float | None:
    """Seconds that a server asked to wait: `retry-after-ms`, or `retry-after` as seconds or a date; None if it did not say."""
    ms, said = headers.get("retry-after-ms"), headers.get("retry-after")
    seconds = _number(ms) / 1000 if ms else _number(said) if said else math.nan
    if said and math.isnan(seconds):
        try:
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else min(max(seconds, 0.0), 86_400.0)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def body_text(body: Any, message: str) -> str:
    """What a server said in an error body of any shape: OpenAI's, FastAPI's `detail`, or plain text."""
    for key in ("message", "detail", "error", "msg"):
        if isinstance(body, dict) and body.get(key):
            inner = body[key]
            return inner if isinstance(inner, str) else body_text(inner, str(inner))
    return body if isinstance(body, str) and body.strip() else str(body) if isinstance(body, list) and body else message


def model_error(error: BaseException, *, url: str, timeout: float) -> ModelError | None:
    """The `ModelError` of an exception of the client, None if it is none of a client: a bug, which must be seen."""
    import openai

    if isinstance(error, openai.APIStatusError):
        text = body_text(error.body, error.message)
        kind = from_status(error.status_code, text, f"{error.code} {error.type}")
        return _error(kind, text, error.status_code, retry_after(error.response.headers), url, timeout)
    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return _error("timeout", "", None, None, url, timeout)
    cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
    library = type(cause).__module__.split(".")[0]
    if isinstance(error, openai.APIConnectionError) or library in ("httpx2", "httpx", "httpcore2", "httpcore"):
        if "Timeout" in type(cause).__name__:
            return _error("timeout", "", None, None, url, timeout)
        kind = "cut" if type(cause).__name__ in _CUT else "connection"
        return _error(kind, str(cause), None, None, url, timeout)
    if isinstance(error, openai.APIError):  # an error event inside a stream
        return _error("server", body_text(error.body, error.message), None, None, url, timeout)
    if isinstance(error, openai.OpenAIError):
        return _error("unreadable", str(error), None, None, url, timeout)
    if isinstance(error, UnicodeError | ValueError):
        return _error("unreadable", type(error).__name__, None, None, url, timeout)
    return None


def _error(kind: Failure, text: str, status: int | None, wait: float | None, url: str, timeout: float) -> ModelError:
    words = _WORDS[kind].format(url=url, timeout=round(timeout, 1), status=status)
    said = " ".join(text.split())
    said = said if len(said) <= 300 else said[:297] + "…"
    sentence = f"{words}: {said}" if said else words
    hint = "".join(h for key, h in _HINTS.items() if key in text)
    return ModelError(f"{sentence}{'' if sentence.endswith(('.', '!', '?', '…')) else '.'}{hint}", kind, status, wait)

"""What a server can tell of yes and no, found out by looking at its answers: many drop log-probabilities without a word."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

from core.digest import sha256_json
from core.error_slices.scores import ScoreSource
from core.error_slices.vision.ask import TOP, content_of
from core.error_slices.vision.crops import CropSettings, UnitPictures
from core.error_slices.vision.prompts import slice_texts
from core.error_slices.vision.yes_no import NOTHING, YesNo, of_tokens, of_words, word_said
from core.errors import InputError
from core.llm import Ask, Client, Endpoint, ModelError, Profile, Reply, Retry, with_retries
from core.llm.connections import Workspace, learn
from core.llm.messages import Failure
from core.llm.probe import WARM_UP

LONG = 1_024
"""Limit of an answer of a model that reasons first."""
SHORT = 16
JSON = 64
_BY_IT: tuple[Failure, ...] = ("bad_request", "server", "unreadable")
"""Failures that asking for log-probabilities may bring about."""
_TRY = Retry(attempts=3, base=0.5, longest=20.0)


@dataclass(frozen=True)
class Ability:
    """How yes and no are got out of a model.

    Attributes:
        kind: logprob, sampled or verbalised.
        tokens: Limit of an answer.
        top: Log-probabilities a token that it listed.
        findings: One sentence each, for people.
    """

    kind: ScoreSource
    tokens: int
    top: int = 0
    findings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "findings": list(self.findings)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ability:
        """The reverse of `to_json`."""
        return cls(data["kind"], data["tokens"], data["top"], tuple(data["findings"]))


class _Seen(Protocol):
    def __call__(self, red: bool, **more: Any) -> Reply: ...


def probe_ability(endpoint: Endpoint, kind: ScoreSource | None = None) -> tuple[Ability, Profile]:
    """Ask about a red picture and a blue one whether it is red, and look at what comes back; two to five short calls.

    Args:
        endpoint: The model.
        kind: Try this way only; None takes the best that works: log-probabilities, else samples, else words.

    Returns:
        What it can do, and how its server speaks, as learned.

    Raises:
        ModelError: It does not answer, or takes no pictures.
        InputError: It answers, but no way works; the findings are named.
    """
    profile = replace(endpoint.profile, timeout=max(WARM_UP, endpoint.profile.timeout), logprobs=True, top_logprobs=TOP)
    findings: list[str] = []
    with Client(replace(endpoint, profile=profile)) as client:

        def ask(red: bool, **more: Any) -> Reply:
            reply = with_retries(lambda: client.chat(_ask(red, **more)), _TRY)
            findings.extend(w for w in reply.adapted if w not in findings)
            return reply

        ability = _find(ask, client, findings, kind)
        learned = replace(client.profile, timeout=endpoint.profile.timeout)
    if ability is None:
        raise InputError(f"{endpoint.name} cannot be asked about pictures{f' this way ({kind})' if kind else ''}. {' '.join(findings)}")
    return replace(ability, findings=tuple(findings)), learned


def _find(ask: _Seen, client: Client, findings: list[str], kind: ScoreSource | None) -> Ability | None:
    top = 0 if kind in ("sampled", "verbalised") else TOP
    try:
        first = ask(True, max_tokens=LONG, top=top)
        if top and client.profile.logprobs and not first.tokens:
            first = ask(True, max_tokens=LONG, top=top)  # some servers leave them out once in a while
    except ModelError as e:
        if not top or e.kind not in _BY_IT:
            raise
        first, top = ask(True, max_tokens=LONG), 0
        findings.append(f"Asked for log-probabilities it failed, without them it answered. {e}")
    reasons = bool(first.reasoning)
    if top and (found := _logprob(ask, first, reasons, findings)):
        return found
    if kind in (None, "sampled") and (found := _sampled(ask, client, first, reasons, findings)):
        return found
    if kind in (None, "verbalised"):
        return _verbalised(ask, reasons, findings)
    return None


def _logprob(ask: _Seen, first: Reply, reasons: bool, findings: list[str]) -> Ability | None:
    flaw = _flaw_of(first)
    if flaw:
        findings.append(flaw)
        return None
    tokens = LONG
    for limit in (1, SHORT) if not reasons else (LONG,):
        tokens = limit
        try:
            second = ask(False, max_tokens=limit, top=TOP)
        except ModelError as e:
            if limit > 1 or e.kind != "bad_request":
                raise
            continue  # some servers refuse answers that short
        if not _flaw_of(second):
            break
    else:
        findings.append(_flaw_of(second))
        return None
    listed = len(first.tokens[0].top)
    findings.append(f"It tells log-probabilities: {listed} tokens are listed.")
    _sees(findings, of_tokens(first.tokens), of_tokens(second.tokens))
    return Ability("logprob", tokens, listed)


def _flaw_of(reply: Reply) -> str:
    """Why the log-probabilities of an answer are of no use, "" if they are."""
    if not reply.tokens:
        return "It tells no log-probabilities, though it was asked for them and did not refuse."
    finite = [x for _, x in reply.tokens[0].top if math.isfinite(x) and x > -1_000]
    if len(finite) < 2:
        return f"Its list of likeliest tokens holds {len(finite)} with a probability; yes and no cannot be weighed against each other."
    if of_tokens(reply.tokens).c is None:
        return f'Neither yes nor no is among the likeliest tokens; it begins with "{reply.tokens[0].text.strip()[:20]}".'
    return ""


def _sampled(ask: _Seen, client: Client, first: Reply, reasons: bool, findings: list[str]) -> Ability | None:
    tokens = LONG if reasons else SHORT
    if word_said(first.text) is None:
        findings.append(f'It answers "{first.text.strip()[:40]}" instead of yes or no.')
        return None
    second = ask(False, max_tokens=tokens, temperature=1.0)
    if not client.profile.temperature:
        findings.append("It takes no temperature, so that its samples are not known to differ.")
        return None
    if word_said(second.text) is None:
        findings.append(f'It answers "{second.text.strip()[:40]}" instead of yes or no.')
        return None
    findings.append("It is asked several times for a yes or no, and the share of yes counts; such scores are not calibrated.")
    _sees_words(findings, word_said(first.text), word_said(second.text))
    return Ability("sampled", tokens)


def _verbalised(ask: _Seen, reasons: bool, findings: list[str]) -> Ability | None:
    tokens = LONG if reasons else JSON
    answers = [of_words(ask(red, max_tokens=tokens, order="verbalised").text) for red in (True, False)]
    if any(a.c is None for a in answers):
        findings.append("It does not name a confidence in JSON.")
        return None
    findings.append("It names its confidence in words; such scores are not calibrated.")
    _sees(findings, *answers)
    return Ability("verbalised", tokens)


def _sees(findings: list[str], red: YesNo = NOTHING, blue: YesNo = NOTHING) -> None:
    if red.c is not None and blue.c is not None and not red.c > 0.5 > blue.c:
        findings.append(
            f"It gives a red picture {red.c:.2f} and a blue one {blue.c:.2f} when asked whether it is red: it may not see pictures."
        )


def _sees_words(findings: list[str], red: str | None, blue: str | None) -> None:
    if (red, blue) != ("yes", "no"):
        findings.append(f'Asked whether a picture is red it said "{red}" of a red one and "{blue}" of a blue one: it may not see pictures.')


def known_ability(store: Workspace, endpoint: Endpoint, kind: ScoreSource | None = None) -> Ability | None:
    """What the last probe of a model found, None if there was none.

    Args:
        store: Remembers it.
        endpoint: The model.
        kind: The way that was asked for, None for the best that it has.
    """
    best, wanted = (store.preferences.get(_key(endpoint, k)) for k in (None, kind))
    data = best if best and best["kind"] == kind else wanted
    return Ability.from_json(data) if data else None


def keep_ability(store: Workspace, endpoint: Endpoint, ability: Ability, profile: Profile, kind: ScoreSource | None = None) -> Endpoint:
    """Remember what a probe found; gives the endpoint with what was learned of its server.

    Args:
        store: Remembers it.
        endpoint: The model.
        ability: What it can do.
        profile: How its server speaks.
        kind: The way that was asked for, None for the best that it has: a way that somebody wished for once is not taken for the best.
    """
    store.preferences.set(_key(endpoint, kind), ability.to_json())
    if profile != endpoint.profile:
        learn(store, endpoint, profile)
    return replace(endpoint, profile=profile)


def _key(endpoint: Endpoint, kind: ScoreSource | None) -> str:
    name = f"yes_no.{sha256_json([endpoint.base_url, endpoint.model])[:16]}"
    return f"{name}.{kind}" if kind else name


def _ask(red: bool, *, max_tokens: int, top: int = 0, temperature: float = 0.0, order: str = "yes_no") -> Ask:
    texts = slice_texts()
    words = f"{texts.probe.question}\n{getattr(texts.match, order)}"
    messages = [
        {"role": "system", "content": texts.probe.system},
        {"role": "user", "content": content_of(UnitPictures(_plain(red), None), words)},
    ]
    sampled = {"top_p": 1.0} if temperature else {}
    return Ask(messages, max_tokens, temperature=temperature, top_logprobs=top, **sampled)  # type: ignore[arg-type]


def _plain(red: bool) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (64, 64), (208, 16, 16) if red else (16, 32, 208)).save(out, "JPEG", quality=CropSettings().quality)
    return out.getvalue()

"""One question to a vision model about one unit: what is sent, under which key its answer is kept, and how it is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from core.digest import sha256_json
from core.error_slices.scores import ScoreSource
from core.error_slices.units import Side, Units
from core.error_slices.vision.crops import CropSettings, UnitPictures, image_digest, rounded
from core.error_slices.vision.prompts import slice_texts
from core.error_slices.vision.yes_no import YesNo, mean_of, of_samples, of_tokens, of_words
from core.llm import Ask, Endpoint
from core.llm.calls import StoredCall, call_key, host_of
from core.llm.logprobs import tokens_of_json

if TYPE_CHECKING:
    from core.error_slices.vision.probe import Ability

TOP = 20
"""Log-probabilities that are asked for at a token: what most servers give at most."""
FAILED = YesNo(None, None, None, "failed")
Order = Literal["yes_no", "no_yes", "verbalised"]


@dataclass(frozen=True)
class MatchSpec:
    """Everything beside unit and hypothesis that shapes the answers of a model; no scores of different specs are mixed.

    Attributes:
        model: Name on the wire.
        base_url: Where it is.
        name: Name under which its results count.
        kind: logprob, sampled or verbalised.
        tokens: Limit of an answer.
        samples: Answers of one question, for sampled.
        both_orders: Ask "yes or no" and "no or yes" and take the mean, against a liking for the first word.
        crops: How units are shown.
    """

    model: str
    base_url: str
    name: str
    kind: ScoreSource
    tokens: int
    samples: int = 8
    both_orders: bool = False
    crops: CropSettings = field(default_factory=CropSettings)

    @classmethod
    def of(cls, endpoint: Endpoint, ability: Ability, samples: int, both_orders: bool, crops: CropSettings) -> MatchSpec:
        """The spec of a run."""
        return cls(
            endpoint.model,
            endpoint.base_url,
            endpoint.name,
            ability.kind,
            ability.tokens,
            samples if ability.kind == "sampled" else 1,
            both_orders and ability.kind == "logprob",
            crops,
        )

    @property
    def matcher(self) -> str:
        """Model, version of the prompt and what else is not as usual, for screens and files; scores of one name may stand together."""
        more = f", {self.samples} samples" if self.kind == "sampled" else ", both orders" if self.both_orders else ""
        crops = "" if self.crops == CropSettings() else f", crops {sha256_json(asdict(self.crops))[:8]}"
        return f"{self.name}, prompt {slice_texts().version}{more}{crops} ({self.fingerprint[:8]})"

    @property
    def fingerprint(self) -> str:
        """Hash of the model, its server, the text of the prompt and the decoding: two models under one label are told apart by it."""
        endpoint = Endpoint(self.base_url, self.model)
        return sha256_json([self.model, host_of(endpoint), prompt_digest(), self.variants, self.decode(0), asdict(self.crops)])

    @property
    def variants(self) -> tuple[tuple[Order, int], ...]:
        """The calls of one question: order of the words, and seed."""
        if self.kind == "verbalised":
            return (("verbalised", 0),)
        if self.kind == "sampled":
            return tuple(("yes_no", seed) for seed in range(self.samples))
        return (("yes_no", 0), ("no_yes", 0)) if self.both_orders else (("yes_no", 0),)

    def decode(self, seed: int, again: int = 0) -> dict[str, Any]:
        """Parameters of decoding of one call; `again` tells a repeat of a call whose log-probabilities were dropped."""
        sampled = self.kind == "sampled"
        made: dict[str, Any] = {"max_tokens": self.tokens, "temperature": 1.0 if sampled else 0.0, "seed": seed}
        made |= {"top_p": 1.0} if sampled else {}
        made |= {"top_logprobs": TOP} if self.kind == "logprob" else {}
        return made | ({"again": again} if again else {})


@dataclass(frozen=True)
class Question:
    """One statement about one unit, by its content: neither the id of the unit nor its kind of error is known here.

    Attributes:
        statement: Text of the hypothesis, blanks evened out.
        side: Whose box it is.
        class_name: Of the unit, "" for a whole image.
        box: What is marked, whole px; None for a whole image.
        size: Width and height of the image in the px of the box: where the file has others the box is scaled, or the picture turned.
        image: SHA-256 of the file of the image.
    """

    statement: str
    side: Side
    class_name: str
    box: tuple[int, int, int, int] | None
    size: tuple[int, int]
    image: str


def question_of(units: Units, unit: int, statement: str) -> Question:
    """The question whether a statement holds for a unit.

    Raises:
        InputError: The image of the unit cannot be read.
    """
    side: Side = str(units.side[unit])  # type: ignore[assignment]
    whole = side == "image"
    image = units.detections.images[int(units.image[unit])]
    name = "" if whole or units.cls[unit] < 0 else units.detections.classes[int(units.cls[unit])].name
    box = None if whole else rounded(units.xyxy[unit])
    return Question(quotable(statement), side, quotable(name), box, (image.width, image.height), image_digest(image))


def quotable(text: str) -> str:
    """A text that can stand between double quotes on one line and not end them: texts of files and models are data."""
    return " ".join(text.replace('"', "'").split())


@cache
def prompt_digest() -> str:
    """Hash of the texts that units are asked about with."""
    return sha256_json(slice_texts().match.model_dump())


class Keys:
    """Keys of the calls about units under one spec; what is the same for all of them is computed once."""

    def __init__(self, spec: MatchSpec) -> None:
        self.spec = spec
        self._endpoint = Endpoint(spec.base_url, spec.model)
        self._prompt = prompt_digest()

    def of(self, question: Question, order: Order, seed: int, again: int = 0) -> str:
        """Key of one call."""
        q = {k: v for k, v in vars(question).items() if k != "image"}
        content = {**q, "order": order, "crops": asdict(self.spec.crops)}
        return call_key(self._endpoint, "slice_match", self._prompt, content, [question.image], self.spec.decode(seed, again))

    def all(self, question: Question) -> tuple[str, ...]:
        """Keys of all calls of a question, without repeats."""
        return tuple(self.of(question, order, seed) for order, seed in self.spec.variants)


def content_of(pictures: UnitPictures | Sequence[str], words: str) -> list[dict[str, Any]]:
    """Content of a message: the pictures first, so that servers can keep what they made of them for the next statement."""
    urls = pictures.urls if isinstance(pictures, UnitPictures) else pictures
    return [*({"type": "image_url", "image_url": {"url": url}} for url in urls), {"type": "text", "text": words}]


def words_of(question: Question, order: Order) -> str:
    """The text that goes with the pictures."""
    t = slice_texts().match
    if question.box is None:
        lead, body = t.image, t.frame
    else:
        lead = {"gt": t.gt, "pred": t.pred, "seg": t.seg}[question.side].format(class_name=question.class_name)
        body = t.box
    return "\n".join([lead, body.format(statement=question.statement), getattr(t, order)])


def ask_of(question: Question, spec: MatchSpec, pictures: Sequence[str], order: Order, seed: int) -> Ask:
    """One call.

    Args:
        question: What is asked.
        spec: How.
        pictures: Data URLs, as `UnitPictures.urls` gives them.
        order: Of yes and no.
        seed: Of this sample.
    """
    texts = slice_texts().match
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": texts.system},
        {"role": "user", "content": content_of(pictures, words_of(question, order))},
    ]
    ask = Ask(messages, spec.tokens, temperature=0.0, seed=seed)
    if spec.kind == "sampled":
        return replace(ask, temperature=1.0, top_p=1.0)
    return replace(ask, top_logprobs=TOP) if spec.kind == "logprob" else ask


def score_of(spec: MatchSpec, calls: Sequence[StoredCall]) -> YesNo:
    """The matching score of the answers to one question; flagged as failed where one did not come, or without its log-probabilities."""
    if any(c.status != "done" for c in calls) or not calls:
        return FAILED
    if spec.kind == "logprob":
        if any(dropped(spec, c) for c in calls):
            return FAILED
        return mean_of([of_tokens(tokens_of_json(c.response.get("tokens"))) for c in calls])
    texts = [c.text for c in calls]
    return of_samples(texts) if spec.kind == "sampled" else of_words(texts[0])


def dropped(spec: MatchSpec, call: StoredCall) -> bool:
    """Whether a call was answered without the log-probabilities that were asked for, as some servers do once in a while.

    A model that reasoned until its limit gave no answer, so that there was nothing to tell; it would do so again.
    """
    if spec.kind != "logprob" or call.status != "done":
        return False
    tokens = tokens_of_json(call.response.get("tokens"))
    if tokens:
        return not tokens[0].top
    return not (call.response.get("cut") and spec.tokens > 1 and not call.text.strip())

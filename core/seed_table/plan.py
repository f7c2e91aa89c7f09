"""How a file is to be read as a seed table: the user's decisions, kept with the table they made."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Scale = Literal["unit", "percent", "boolean"]
EXCLUDE = ""
"""In a value map: rows that hold this text are excluded, and counted."""


class ImportPlan(BaseModel):
    """Decisions of one import.

    Attributes:
        columns: Column of each dimension.
        score: Column of the score, "" when it is made from `truth` and `predicted`.
        truth: Column of the right answer.
        predicted: Column of the model's answer; a sample is right where the two are equal.
        scale: How scores are written; None is not decided yet.
        count: Column of the number of samples behind a row; "" when each row is one sample or n is assumed.
        assume_n: Samples behind each row where the file gives no counts.
        model_column: Column that names the model, "" if there is none.
        model: The model whose rows are used.
        source_column: Column that names the source dataset (SliceNav, Table 5).
        qa_column: Column that names the type of question (SliceNav, Table 5).
        sample_column: Column that identifies a sample, to find samples that stand there twice.
        value_map: For each dimension, what a text of the file is read as; `EXCLUDE` leaves its rows out.
        missing_words: Texts that mean "no value" in this file, such as NA; by default every text is a value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: dict[str, str] = {}
    score: str = ""
    truth: str = ""
    predicted: str = ""
    scale: Scale | None = None
    count: str = ""
    assume_n: int | None = Field(default=None, ge=1)
    model_column: str = ""
    model: str = ""
    source_column: str = ""
    qa_column: str = ""
    sample_column: str = ""
    value_map: dict[str, dict[str, str]] = {}
    missing_words: tuple[str, ...] = ()

    @property
    def shape(self) -> Literal["samples", "slices"]:
        """Whether a row is one sample or a slice with its n."""
        return "slices" if self.count or self.assume_n else "samples"

    def used_columns(self) -> list[str]:
        """Every column that is read, each once."""
        named = [*self.columns.values(), self.score, self.truth, self.predicted, self.count, self.model_column]
        named += [self.source_column, self.qa_column, self.sample_column]
        return list(dict.fromkeys(c for c in named if c))

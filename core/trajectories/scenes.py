"""Scenes that several planners share: what is compared is compared on the same scenes, and what is left out is counted."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Common:
    """Scenes of several planners.

    Attributes:
        scenes: Those that all of them have, sorted.
        counts: Scenes of each planner.
    """

    scenes: tuple[str, ...]
    counts: Mapping[str, int]

    @property
    def left_out(self) -> dict[str, int]:
        """Scenes of each planner that are not in common."""
        return {p: n - len(self.scenes) for p, n in self.counts.items()}

    @property
    def equal(self) -> bool:
        """Whether all planners have exactly the same scenes."""
        return not any(self.left_out.values())

    def text(self) -> str:
        """One sentence for a screen."""
        scenes = f"{len(self.scenes):,} scene" + "s" * (len(self.scenes) != 1)
        if len(self.counts) < 2:
            return f"{scenes} of one planner." if self.counts else "No scene."
        if self.equal:
            return f"All {len(self.counts)} planners have the same {scenes}."
        each = ", ".join(f"{p} {n:,}" for p, n in self.left_out.items() if n)
        return f"{scenes} in common; left out of the comparison: {each}."


def in_common(scenes: Mapping[str, Collection[str]]) -> Common:
    """The scenes that all planners have.

    Args:
        scenes: Scenes of each planner.
    """
    sets = [set(s) for s in scenes.values()]
    return Common(tuple(sorted(set.intersection(*sets))) if sets else (), {p: len(set(s)) for p, s in scenes.items()})

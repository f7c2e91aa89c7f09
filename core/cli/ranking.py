"""Options of every command that ranks: scope, similarity, parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Any

import typer

from core import operators
from core.cli import options as o
from core.operators import RankResult
from core.scoring import ScoringParameters, make_scope
from core.seed_table import CheckReport
from core.settings import Settings

DEFAULTS = ScoringParameters()


@dataclass(frozen=True)
class RankOptions:
    """Everything a command line says about a ranking but its table and length."""

    params: ScoringParameters
    similarity: str = ""
    where: Sequence[str] = ()
    scope: str = "in"
    extend: Sequence[str] = ()
    plausible_only: bool = False
    time_limit: float | None = None
    floor: float | None = None

    def rank(self, prepared: operators.Prepared, report: CheckReport, top: int | None) -> RankResult:
        """Ranks a checked table."""
        return operators.rank(
            report.seed,
            self.params,
            Settings.from_environment(),
            mode=self.similarity or None,
            top=top,
            where=o.filters(self.where),
            scope=make_scope(report.odd, self.scope, self.extend),
            plausible_only=self.plausible_only,
            time_limit=self.time_limit,
            floor=self.floor,
            source=operators.source_of(prepared, report),
        )


def _rank_options(
    where: o.Where = None,
    scope: Annotated[str, typer.Option("--scope", help="in the ODD, out of it, or both.")] = "in",
    extend: Annotated[
        list[str] | None,
        typer.Option(
            "--extend",
            help="Extended values for --scope out or both: all, a dimension, or dimension=value,value; may be given several times.",
        ),
    ] = None,
    plausible_only: Annotated[
        bool, typer.Option("--plausible-only", help="Leave out the combinations that the ODD calls implausible; they are counted.")
    ] = False,
    similarity: Annotated[
        str, typer.Option("--similarity", help="text, calibrated, factored or exact; by default what suits the ODD.")
    ] = "",
    risk: Annotated[str, typer.Option("--risk", help="neighbour (Eq. 7), or ridge: additive and pairwise effects.")] = DEFAULTS.risk,
    rarity: Annotated[str, typer.Option("--rarity", help="paper (Eq. 6), or log: scaled log exposure.")] = DEFAULTS.rarity,
    novel: Annotated[
        str, typer.Option("--novel", help="Probability of a value never seen: similar (the paper's), or unseen: that of a zero count.")
    ] = DEFAULTS.novel,
    shrink: Annotated[bool, typer.Option("--shrink", help="Draw the errors of thinly tested slices towards the mean.")] = DEFAULTS.shrink,
    provisional: Annotated[
        str, typer.Option("--provisional", help="Slices below the minimum support count as observed or missing.")
    ] = DEFAULTS.provisional,
    min_support: Annotated[
        float, typer.Option("--min-support", help="A count (10), or a share of all samples below 1.")
    ] = DEFAULTS.min_support,
    alpha: Annotated[float, typer.Option("--alpha", help="Smoothing (Eq. 4).")] = DEFAULTS.alpha,
    tau: Annotated[float, typer.Option("--tau", help="Dynamic range (Eq. 5).")] = DEFAULTS.tau,
    gamma: Annotated[float, typer.Option("--gamma", help="Emphasis on rarity (Eq. 6).")] = DEFAULTS.gamma,
    kappa: Annotated[float, typer.Option("--kappa", help="Cap of the estimated error (Eq. 7).")] = DEFAULTS.kappa,
    m: Annotated[int, typer.Option("--m", help="Neighbours.")] = DEFAULTS.m,
    theta: Annotated[float, typer.Option("--theta", help="Least similarity of a neighbour.")] = DEFAULTS.theta,
    beta: Annotated[float, typer.Option("--beta", help="Discount of a value never seen (section 3.5).")] = DEFAULTS.beta,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", help="Seconds for the search of a large space; it then says how exact it is.")
    ] = None,
    floor: Annotated[
        float | None, typer.Option("--min-ild", help="Keep the diversity of the list (ILD) at least here, by exchanging slices.")
    ] = None,
) -> RankOptions:
    """The options of every command that ranks, gathered."""
    params = ScoringParameters(
        alpha,
        tau,
        gamma,
        kappa,
        m,
        theta,
        min_support,
        provisional,  # type: ignore[arg-type]  # checked by ScoringParameters, as are the other words
        beta,
        rarity,  # type: ignore[arg-type]
        novel,  # type: ignore[arg-type]
        risk,  # type: ignore[arg-type]
        shrink,
    )
    return RankOptions(params, similarity, where or (), scope, extend or (), plausible_only, time_limit, floor)


def ranks(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of a ranking, which it gets as its second argument, one `RankOptions`; use it below `reads_table`."""
    shared = list(signature(_rank_options, eval_str=True).parameters.values())
    table, _, *own = signature(command, eval_str=True).parameters.values()

    @wraps(command)
    def run(opts: o.TableOptions, **given: Any) -> None:
        command(opts, _rank_options(**{p.name: given.pop(p.name) for p in shared}), **given)

    run.__signature__ = Signature([table, *shared, *own])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (table, *shared, *own)}
    return run

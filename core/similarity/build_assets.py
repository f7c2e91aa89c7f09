"""Makes the tables that ship with the built-in ODD: `python -m core.similarity.build_assets`."""

from __future__ import annotations

import sys

from core.errors import OddysseyError
from core.odd import built_in
from core.settings import Settings
from core.similarity.calibrated import FitSize, Scope, factored_tables, fit_tables
from core.similarity.encoder import Encoder
from core.similarity.shipped import shipped_path, write_tables
from core.similarity.tables import SimilarityTables

BASE_SIZE = FitSize(3_072, 768)
"""All 3,840 slices of the base ODD, a fifth of them held out."""

ALL_SIZE = FitSize(2_500, 500)


def main() -> int:
    """Embed, fit, write; the figures go to stdout. Returns the exit code."""
    odd = built_in()
    every = range(len(odd.names))
    try:
        encoder = Encoder.from_settings(Settings.from_environment())
        made: list[tuple[Scope, SimilarityTables]] = [
            ("base", fit_tables(odd, odd.active, "base", encoder, _tell, size=BASE_SIZE)),
            ("all", fit_tables(odd, every, "all", encoder, _tell, size=ALL_SIZE)),
            ("all", factored_tables(odd, every, encoder)),
        ]
    except OddysseyError as e:
        print(e, file=sys.stderr)
        return 2
    for scope, tables in made:
        path = shipped_path(tables.mode, scope)
        write_tables(path, tables, scope)
        print(path.name, tables.sha256, dict(tables.quality))
    return 0


def _tell(done: int, total: int) -> None:
    print(f"{done:,} of {total:,} texts", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

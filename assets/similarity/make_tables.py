"""Makes the tables of this folder again; `make assets` runs it."""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
runpy.run_module("core.similarity.build_assets", run_name="__main__")

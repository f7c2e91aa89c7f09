"""What tests of importers share."""

import sys
import types
from dataclasses import dataclass

import numpy as np
import pytest


@pytest.fixture
def navsim_classes(monkeypatch):
    """Trajectory and TrajectorySampling under the names that they have in NAVSIM and nuPlan, so that pickles name them so."""

    @dataclass(frozen=True)
    class TrajectorySampling:
        num_poses: int | None = None
        time_horizon: float | None = None
        interval_length: float | None = None

    @dataclass
    class Trajectory:
        poses: np.ndarray
        trajectory_sampling: TrajectorySampling = TrajectorySampling(8, 4, 0.5)

    names = {"navsim.common.dataclasses": Trajectory, "nuplan.planning.simulation.trajectory.trajectory_sampling": TrajectorySampling}
    for module, cls in names.items():
        cls.__module__, cls.__qualname__ = module, cls.__name__
        parts = module.split(".")
        for k in range(1, len(parts) + 1):
            monkeypatch.setitem(sys.modules, ".".join(parts[:k]), types.ModuleType(".".join(parts[:k])))
        setattr(sys.modules[module], cls.__name__, cls)
    return types.SimpleNamespace(Trajectory=Trajectory, TrajectorySampling=TrajectorySampling)

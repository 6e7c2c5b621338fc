"""Admissible ground reactions of a machine on four wheels, against a general solver of cone programs.

    python benchmarks/reactions.py [--quick]

Prints JSON, in us a state of a batch. `bench.py` runs it. Loads differ from state to state, footprint and friction do
not, and ours prepares them once a call. Clarabel gets the same input, a state: its matrices are filled and it is set up
(`clarabel`). The other two omit work that ours does: prepared matrices (`clarabel_ready`), and a solver that is set up
once and gets another right-hand side for every state (`clarabel_once`). Margins are compared first.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of
from dyn_nodes.stability import admissible_reactions

FEET = np.array([(0.35, 0.30, 0.0), (0.35, -0.30, 0.0), (-0.35, 0.30, 0.0), (-0.35, -0.30, 0.0)])
COM = np.array([0.02, -0.01, 0.3])
FRICTION = np.array([0.7, 0.6, 0.7, 0.5])
STATES, PEER_STATES = 256, 8
"""Number of states in our batch, and in one slice of the peer's measurement."""
ACCURACY = 1e-3  # N of about 800; Clarabel with its defaults


def loads(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random forces and moments (count, 3) at the centre of mass; some of them slide or lift a wheel."""
    rng = np.random.default_rng(0)
    force = rng.normal(size=(count, 3)) * (200.0, 200.0, 40.0) + (0.0, 0.0, -760.0)
    return force, rng.normal(size=(count, 3)) * (30.0, 30.0, 20.0)


class Peer:
    """Clarabel on the program of a state: greatest t such that every force is inside its cone by t.

    Attributes:
        right: (6 + 3 w,) right side; the first six are the wrench that the forces balance.
    """

    def __init__(self) -> None:
        import clarabel
        from scipy import sparse

        self._clarabel, self._sparse = clarabel, sparse
        wheels = len(FEET)
        self._rows = np.zeros((6 + 3 * wheels, 3 * wheels + 1))
        self._cost = np.zeros(3 * wheels + 1)
        self._cost[-1] = -1.0
        self._none = sparse.csc_matrix((len(self._cost), len(self._cost)))
        self._settings = clarabel.DefaultSettings()
        self._settings.verbose, self._settings.presolve_enable = False, False
        self._kinds = [clarabel.ZeroConeT(6), *(clarabel.SecondOrderConeT(3) for _ in FEET)]
        self.right = np.concatenate([[0.0, 0.0, 760.0, 0.0, 0.0, 0.0], np.zeros(3 * wheels)])
        self._ready = self.matrix(FEET, FRICTION)
        self._once = self._solver(self._ready)

    def matrix(self, points: np.ndarray, friction: np.ndarray) -> Any:
        """Return the rows of balance and cones for contacts (w, 3)."""
        rows = self._rows
        for j, (x, y, z) in enumerate(points):
            first, cone = 3 * j, 6 + 3 * j
            rows[0, first] = rows[1, first + 1] = rows[2, first + 2] = 1.0
            rows[3:6, first : first + 3] = (0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)
            rows[cone, first + 2], rows[cone, -1] = -1.0, 1.0
            rows[cone + 1, first] = rows[cone + 2, first + 1] = -1.0 / friction[j]
        return self._sparse.csc_matrix(rows)

    def _solver(self, matrix: Any) -> Any:
        parts = (self._none, self._cost, matrix, self.right, self._kinds, self._settings)
        return self._clarabel.DefaultSolver(*parts)

    def from_state(self, target: np.ndarray) -> float:
        """Return the margin with all matrices built from the state."""
        self.right[:6] = target
        return -float(self._solver(self.matrix(FEET, FRICTION)).solve().obj_val)

    def from_matrix(self, target: np.ndarray) -> float:
        """Return the margin with a prepared matrix."""
        self.right[:6] = target
        return -float(self._solver(self._ready).solve().obj_val)

    def set_up_once(self, target: np.ndarray) -> float:
        """Return the margin with a prepared solver."""
        self.right[:6] = target
        self._once.update(b=self.right)
        return -float(self._once.solve().obj_val)


def measure(quick: bool) -> dict[str, Any]:
    """Return the times of a state, us, and the number of possible states."""
    force, moment = loads(STATES)
    targets = -np.hstack([force, moment + np.cross(COM, force)])
    clarabel = Peer()
    peers = [clarabel.from_state, clarabel.from_matrix, clarabel.set_up_once]

    def ours() -> Any:
        return admissible_reactions(FEET, COM, force, moment, friction=FRICTION, ranges=False)

    def swept(peer: Callable[[np.ndarray], float]) -> Callable[[], list[float]]:
        return lambda: [peer(target) for target in targets[:PEER_STATES]]

    result = ours()
    for peer in peers:
        if np.abs(result.margin - [peer(target) for target in targets]).max() > ACCURACY:
            raise ValueError('margins differ from Clarabel: nothing to compare')
    best = best_of([ours, *(swept(peer) for peer in peers)], 100 if quick else 400)
    return {
        'ours': best[0] / STATES,
        'clarabel': best[1] / PEER_STATES,
        'clarabel_ready': best[2] / PEER_STATES,
        'clarabel_once': best[3] / PEER_STATES,
        'states': STATES,
        'possible': int(result.possible.sum()),
    }


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    print(json.dumps(measure(parser.parse_args().quick), indent=2))

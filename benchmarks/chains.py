"""Order-n forward dynamics of long chains against Pinocchio, and the closed-loop analysis of a truck with trailers.

    python benchmarks/chains.py [--quick]

Prints JSON: the time a link of both at several lengths, measured in turns in this one process, the log-log slope of
ours, and the seconds that tree, rows and analysis of the truck take. `bench.py` runs it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import best_of
from dyn_nodes.studies.formulations.chain import LinkArrays

GRAVITY = np.array([0.0, 0.0, -9.81])
SIZES = (50, 100, 200, 500, 1000, 2000)
COMPARED = (100, 1000)
CHAINS = 3  # random ones of each compared size; the worst ratio counts
AXES = np.eye(3)


def random_chain(n: int, seed: int) -> dict[str, Any]:
    """Return arguments of `LinkArrays`: a revolute chain, axes x, y or z of links turned and placed at random."""
    rng = np.random.default_rng(seed)
    turns = np.linalg.qr(rng.normal(size=(n, 3, 3)))[0]
    turns *= np.sign(np.linalg.det(turns))[:, None, None]
    points = 0.1 * rng.normal(size=(n, 5, 3))
    second = np.einsum('kai,kaj->kij', points, points)
    return {
        'parent': np.arange(-1, n - 1),
        'kind': ['revolute'] * n,
        'axis': AXES[rng.integers(3, size=n)],
        'R': turns,
        'p': 0.2 * rng.normal(size=(n, 3)),
        'mass': rng.uniform(0.5, 2.0, size=n),
        'com': 0.1 * rng.normal(size=(n, 3)),
        'inertia': np.trace(second, axis1=1, axis2=2)[:, None, None] * np.eye(3) - second,
    }


class Peer:
    """The chain in Pinocchio, with joints of fixed axes (faster than joints of arbitrary axes)."""

    def __init__(self, arrays: dict[str, Any]) -> None:
        import pinocchio as pin

        self.pin, self.model = pin, pin.Model()
        self.model.gravity.linear = GRAVITY
        kinds = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
        joint = 0
        for k, axis in enumerate(arrays['axis']):
            placement = pin.SE3(arrays['R'][k], arrays['p'][k])
            joint = self.model.addJoint(joint, kinds[int(np.argmax(axis))](), placement, f'joint {k}')
            inertia = pin.Inertia(float(arrays['mass'][k]), arrays['com'][k], arrays['inertia'][k])
            self.model.appendBodyToJoint(joint, inertia, pin.SE3.Identity())
        self.data = self.model.createData() if self.model.nv <= 100 else lean_data(pin, self.model)


def lean_data(pin: Any, model: Any) -> Any:
    """Return the data of `aba` without the second derivatives.

    `createData` of a model of 1,000 joints reserves four tensors of nv^3 numbers, 32 GB, that `aba` never touches. All
    members that it does touch can be set from Python but one, `oinertias`; that comes from a file of a smaller model
    in which its last entry is repeated. `aba` on either data gives the same numbers, bit for bit (checked at 100).
    """
    small = pin.Model()
    small.addJoint(0, pin.JointModelRZ(), pin.SE3.Identity(), 'joint')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'data.xml'
        small.createData().saveToXML(str(path), 'data')
        text = path.read_text()
        start, end = text.index('<oinertias>'), text.index('</oinertias>')
        part = text[start:end]
        last = part.rindex('\n\t\t<item>')
        part = part[:last].replace('<count>2<', f'<count>{model.njoints}<') + part[last:] * (model.njoints - 1)
        path.write_text(text[:start] + part + text[end:])
        data = pin.Data()
        data.loadFromXML(str(path), 'data')
    joints = pin.StdVec_JointDataVector()
    for joint in model.joints:
        joints.append(joint.createData())
    data.joints = joints
    for kind, entry, names in (
        (pin.StdVec_SE3, pin.SE3.Identity(), ('oMi', 'liMi')),
        (pin.StdVec_Motion, pin.Motion.Zero(), ('ov', 'oa', 'oa_gf', 'v', 'a', 'a_gf')),
        (pin.StdVec_Force, pin.Force.Zero(), ('of', 'oh', 'f', 'h')),
        (pin.StdVec_Matrix6, np.zeros((6, 6)), ('oYaba', 'Yaba')),
        (pin.StdVec_Inertia, pin.Inertia.Zero(), ('oYcrb',)),
    ):
        for name in names:
            vector = kind()
            vector.extend([entry] * model.njoints)
            setattr(data, name, vector)
    data.J = np.zeros((6, model.nv))
    for name in ('u', 'ddq', 'tau'):
        setattr(data, name, np.zeros(model.nv))
    return data


def states(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return random positions, velocities and efforts."""
    rng = np.random.default_rng(n)
    return rng.normal(size=n), 0.1 * rng.normal(size=n), rng.normal(size=n)


def our_call(tree: LinkArrays) -> Callable[[], Any]:
    """Return a call of ours from Python into a ready-made array."""
    q, v, tau = states(tree.n)
    out = np.empty(tree.nv)
    return lambda: tree.forward_dynamics(q, v, tau, GRAVITY, out=out)


def against_peer(n: int, seed: int, rounds: int) -> dict[str, float]:
    """Return the times of a link, ns, of ours and of the faster of Pinocchio's two conventions."""
    arrays = random_chain(n, seed)
    tree, peer = LinkArrays(**arrays), Peer(arrays)
    ours = our_call(tree)
    q, v, tau = states(n)
    aba, convention = peer.pin.aba, peer.pin.Convention
    theirs = [
        lambda: aba(peer.model, peer.data, q, v, tau, convention.WORLD),
        lambda: aba(peer.model, peer.data, q, v, tau, convention.LOCAL),
    ]
    expected = np.array(theirs[0]())
    if not np.abs(ours() - expected).max() <= 1e-9 * np.abs(expected).max():
        raise ValueError(f'forward dynamics of {n} links differs from Pinocchio: nothing to compare')
    if n <= 100:
        lean = lean_data(peer.pin, peer.model)
        if not np.array_equal(aba(peer.model, lean, q, v, tau, convention.WORLD), expected):
            raise ValueError('Pinocchio on the small data is not Pinocchio')
    best = best_of([ours, *theirs], rounds)
    return {'ours': 1e3 * best[0] / n, 'peer': 1e3 * min(best[1:]) / n}


def slope(rounds: int) -> tuple[float, dict[int, float]]:
    """Return the log-log slope of the time of a call over the lengths, and the times of a link, ns."""
    best = best_of([our_call(LinkArrays(**random_chain(n, 0))) for n in SIZES], rounds)
    fitted = float(np.polyfit(np.log(SIZES), np.log(best), 1)[0])
    return fitted, {n: 1e3 * time_us / n for n, time_us in zip(SIZES, best)}


def trailers() -> dict[str, float]:
    """Return counts of the truck with three trailers and the seconds that generator and analysis take."""
    from benchmarks.trailers import truck_system
    from dyn_nodes.constraints import analyse

    start = time.perf_counter()
    system = truck_system()
    made = time.perf_counter()
    analysis = analyse(system, np.zeros(system.tree.nq))
    done = time.perf_counter()
    return {
        'joints': analysis.velocities,
        'rank': analysis.rank,
        'independent': analysis.mobility,
        'generator': made - start,
        'analysis': done - made,
    }


def measure(quick: bool) -> dict[str, Any]:
    """Return all figures."""
    rounds = 20 if quick else 100
    result: dict[str, Any] = {}
    for n in COMPARED:
        trials = [against_peer(n, seed, rounds) for seed in range(1 if quick else CHAINS)]
        result[str(n)] = min(trials, key=lambda times: times['peer'] / times['ours'])
    result['slope'], result['per_link_ns'] = slope(rounds)
    result['trailers'] = trailers()
    return result


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='Forward dynamics of long chains against Pinocchio.')
    parser.add_argument('--quick', action='store_true', help='a few rounds only')
    print(json.dumps(measure(parser.parse_args().quick), indent=2))

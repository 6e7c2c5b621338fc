"""Allowances of a machine with a load on two passive joints: at rest it hangs plumb, whatever its present swing."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_nodes.monitor.allowance import Allowances
from dyn_nodes.monitor.load_model import LoadModel
from dyn_nodes.monitor.standing import StandingGround
from dyn_nodes.multibody.rigid_body import RigidBodyModel
from dyn_nodes.nodes.machines import machine_of

RESERVE = 0.15
STILL = np.zeros(5)
HOOK, SWAY = 3, 4
POSTURES = {'ahead': (0.0, 0.5, -0.9), 'aside': (1.57, 0.6, -1.2)}


@pytest.fixture(scope='module')
def grapple():
    return machine_of('log_loader_grapple', '')


@pytest.fixture(scope='module')
def model(grapple):
    return LoadModel(grapple)


@pytest.fixture
def ground(grapple, model):
    """Level ground below the wheels, the base at rest with an empty grapple."""
    made = StandingGround(grapple, model)
    made.set_ground(np.array([0.0, 0.0, 1.0, -1.2]), np.array([0.0, 0.0, 1.0]))
    return made


@pytest.fixture
def allowances(grapple, ground):
    return Allowances(grapple, ground)


def posture(arm, hook=0.0, sway=0.0) -> np.ndarray:
    """Return swing, boom and stick, and the hanging joints at angles off plumb, rad."""
    swing, boom, stick = arm
    plumb = 0.0872664 - (boom + stick - (0.9599310885968813 - 1.8325957145940461))
    return np.array([swing, boom, stick, plumb + hook, sway])


@pytest.mark.parametrize('payload', [0.0, 2000.0])
@pytest.mark.parametrize('up', [(0.0, 0.0, 1.0), (0.08, -0.1, 1.0)])
def test_at_rest_gravity_torques_on_hanging_joints_vanish(grapple, ground, payload, up):
    """Compared with the inverse dynamics of the whole machine, from far off plumb."""
    up = np.array(up) / np.linalg.norm(up)
    q = ground.hanging.at_rest(posture(POSTURES['ahead'], 1.2, -0.9), payload, up)
    assert q[:3].tolist() == list(POSTURES['ahead'])
    body = RigidBodyModel(grapple)
    at, still = body.neutral(), np.zeros(body.nv)
    at[body.nq - 5 :] = q
    lifted = still.copy()
    lifted[3:6] = 9.81 * up  # of the base, angular before linear: in place of gravity, which is along its z axis here
    lifted[5] -= 9.81
    efforts = np.asarray(body.inverse_dynamics(at, still, lifted, body.parameters(payload)))[-2:]
    beside = at.copy()
    beside[-2:] += 0.1
    turned = np.asarray(body.inverse_dynamics(beside, still, lifted, body.parameters(payload)))[-2:]
    assert np.abs(efforts).max() < 1e-4 * np.abs(turned).max()


def test_the_posture_of_a_machine_without_a_hanging_load_does_not_change(machine):
    ground = StandingGround(machine)
    q = np.array((0.3, 0.6, -1.2))
    assert not ground.hanging
    assert ground.hanging.at_rest(q, 1000.0, np.array([0.0, 0.0, 1.0])).tolist() == q.tolist()


@pytest.mark.parametrize('arm', POSTURES.values(), ids=POSTURES)
def test_payload_and_reach_at_rest_do_not_depend_on_the_momentary_swing(allowances, arm):
    plumb = allowances.evaluate(posture(arm), STILL, 2000.0)
    for hook, sway in ((-0.35, 0.2), (0.35, -0.2)):
        swung = allowances.evaluate(posture(arm, hook, sway), STILL, 2000.0)
        assert swung.payload == pytest.approx(plumb.payload, abs=0.5)
        assert swung.reach == pytest.approx(plumb.reach, abs=2e-3)


def test_the_payload_allowed_leaves_the_reserve_with_the_load_plumb(allowances, ground):
    arm = POSTURES['aside']
    more = allowances.evaluate(posture(arm, 0.35), STILL, 2000.0).payload
    assert 100.0 < more < 3000.0
    assert ground.standing_degree(posture(arm), 2000.0 + more) == pytest.approx(RESERVE, abs=1e-4)


@pytest.mark.parametrize(('swing', 'payload', 'ends'), [(0.0, 2000.0, 'arm'), (1.57, 3500.0, 'reserve')])
def test_the_reach_is_that_of_the_arm_with_the_load_plumb(allowances, ground, swing, payload, ends):
    """Solved independently along the way of boom and stick: the way ends at the reserve or at the last posture."""
    q = posture((swing, 0.96, -1.83))
    reach = allowances.evaluate(q, STILL, payload).reach
    assert reach > 0.9

    def placed(boom, stick):
        return ground.hanging.at_rest(posture((swing, boom, stick)), payload, ground.up)

    start = allowances.tip_point(placed(*q[1:3]))
    outwards = allowances.outward_direction(start)

    def arm_at(way):
        """Return boom and stick (2,) that move the load there at its height, by Newton steps along the way, or None."""
        x = q[1:3].copy()
        for part in np.linspace(0.0, 1.0, 31)[1:]:
            for _ in range(20):
                error = start + part * way * outwards - allowances.tip_point(placed(*x))
                miss = np.array([error @ outwards, error[2]])
                if np.abs(miss).max() < 1e-5:
                    break
                columns = [allowances.tip_point(placed(*(x + step))) for step in 1e-4 * np.eye(2)]
                here = allowances.tip_point(placed(*x))
                J = np.array([[(c - here) @ outwards, (c - here)[2]] for c in columns]).T / 1e-4
                x = x + np.clip(np.linalg.lstsq(J, miss, rcond=1e-3)[0], -0.1, 0.1)
            else:
                return None
        return x

    there = arm_at(reach - 0.02)
    assert there is not None
    assert ground.standing_degree(posture((swing, *there)), payload) >= RESERVE - 1e-3
    if ends == 'reserve':
        beyond = arm_at(reach + 0.02)
        assert ground.standing_degree(posture((swing, *beyond)), payload) < RESERVE
    else:
        beyond = arm_at(reach + 0.05)
        limits = [(allowances._lower[k], allowances._upper[k]) for k in (1, 2)]
        assert beyond is None or any(not low <= angle <= high for angle, (low, high) in zip(beyond, limits))


def test_no_swing_speed_is_allowed_for_a_load_that_swings_out(allowances):
    """Unlike a fixed load, a hanging load increases the tipping moment outwards with the square of the speed."""
    assert np.isnan(allowances.evaluate(posture(POSTURES['aside']), STILL, 2000.0).swing_speed)

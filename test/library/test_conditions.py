"""No result depends on a payload or slope that is neither an argument nor part of the state nor displayed."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import dyn_nodes as dn

CONDITIONS = {'payload': 2000.0, 'slope': (0.0, 0.05)}


@pytest.fixture(scope='module')
def loader():
    return dn.load('log_loader')


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


def wheels(run):
    """Return the sum of the normal forces at the end of a run, N."""
    return sum(float(force[-1, 2]) for force in run.margins().reactions.values())


def swing_mode(model):
    return min(mode.frequency for mode in model.modes() if mode.oscillates)


def test_a_run_that_continues_another_keeps_its_payload_and_slope(loader):
    first = loader.simulate(0.2, voltage=..., **CONDITIONS)
    then = loader.simulate(0.2, voltage=..., x0=first.last)
    weight = (loader.data.total_mass + 2000.0) * loader.data.gravity * np.cos(0.05)
    assert wheels(first) == pytest.approx(weight, rel=1e-3)
    assert wheels(then) == pytest.approx(weight, rel=1e-3)
    assert str(then.conditions) == 'payload 2000 kg, slope (0, 0.05) rad'
    assert 'payload 2000 kg, slope (0, 0.05) rad' in repr(then)


def test_margins_of_the_final_state_equal_the_margins_of_the_run(loader):
    run = loader.simulate(0.2, voltage=..., **CONDITIONS)
    margins = loader.margins(run.q[-1])
    assert margins['static'].value == pytest.approx(run.margins()['static'].value[-1], rel=1e-6)
    assert 'payload 2000 kg, slope (0, 0.05) rad' in repr(margins)
    over_time = loader.margins(run.q)
    np.testing.assert_allclose(over_time['static'].value, run.margins()['static'].value, rtol=1e-4)


def test_margins_of_a_posture_use_its_payload(loader):
    margins = loader.margins(loader.posture(payload=500.0))
    assert margins['static'].value == pytest.approx(loader.margins(payload=500.0)['static'].value, rel=1e-6)
    assert margins['static'].value == pytest.approx(1.098, abs=1e-3)


def test_a_linear_model_of_a_state_uses_its_payload(loader):
    frequency = swing_mode(loader.linearize(loader.rest_state(payload=500.0)))
    assert frequency == pytest.approx(swing_mode(loader.linearize(payload=500.0)), rel=1e-9)
    posture = loader.linearize(loader.posture(payload=500.0))
    assert swing_mode(posture) == pytest.approx(frequency, rel=1e-6)


def test_torques_hold_the_joints_of_a_state(loader):
    moved = loader.simulate(0.5, torque={'boom_joint': 3e5})
    still = moved.last.copy()
    nq, nv = moved.raw.system.nq, moved.raw.system.nv
    still[nq : nq + nv] = 0.0
    held = loader.simulate(0.1, torque=..., x0=still)
    assert abs(held['boom_joint'][-1] - still[loader.index('boom_joint')]) < 1e-3


def test_payload_and_slope_of_a_machine_apply_to_all_methods(loader):
    carrying = loader.carrying(**CONDITIONS)
    loaded = dn.load('log_loader', **CONDITIONS)
    joints = {'boom_joint': 0.4}
    for machine in (carrying, loaded):
        assert machine.rest_state(joints) == pytest.approx(loader.rest_state(joints, **CONDITIONS), abs=1e-9)
        assert machine.dynamics().conditions == loader.dynamics(**CONDITIONS).conditions
        bare = np.array(machine.posture(joints))
        assert machine.margins(bare)['zmp'].value == loader.margins(bare, **CONDITIONS)['zmp'].value
        assert machine.reactions(bare, joint='boom_joint').force == pytest.approx(
            loader.reactions(bare, joint='boom_joint', **CONDITIONS).force
        )
        assert machine.tipping(joints).load == loader.tipping(joints, slope=CONDITIONS['slope']).load
        assert machine.tipping(joints, downhill=0.3).load == loader.tipping(joints, payload=2000.0, downhill=0.3).load
        assert 'payload 2000 kg' in repr(machine)
        assert pickle.loads(pickle.dumps(machine)).conditions == machine.conditions
    assert 'payload' not in repr(loader)


def test_changes_of_the_machine_yaml_apply_to_all_methods(loader):
    softer = dn.load('log_loader', changes={'wheels.front_left.stiffness': 3e5})
    assert {wheel.name: wheel.stiffness for wheel in softer.data.wheels}['front_left'] == 3e5
    assert softer.posture()[2] < loader.posture()[2] - 1e-3
    with pytest.warns(UserWarning, match=r'found a state with: .*wheels\.front_left\.stiffness 300000'):
        loader.margins(softer.posture())


def test_changes_need_a_machine_yaml(tmp_path):
    path = tmp_path / 'box.urdf'
    path.write_text('<robot name="box"><link name="a"><inertial><mass value="1"/></inertial></link></robot>')
    with pytest.raises(ValueError, match='changes: expected a machine YAML to change, found none'):
        dn.load(path, changes={'payload.mass': 1.0})


BARE = 'expected a machine at rest under the default payload 5100 kg, slope'


@pytest.mark.parametrize('name', ['margins', 'linearize', 'simulate'])
def test_a_bare_array_that_is_not_at_rest_under_assumed_values_gives_one_warning(loader, name):
    bare = np.array(loader.posture(payload=500.0) if name == 'margins' else loader.rest_state(payload=500.0))
    calls = {
        'margins': lambda **conditions: loader.margins(bare, **conditions),
        'linearize': lambda **conditions: loader.linearize(bare, **conditions),
        'simulate': lambda **conditions: loader.simulate(0.01, voltage=..., x0=bare, **conditions),
    }
    with pytest.warns(UserWarning, match=BARE) as caught:
        calls[name]()
    assert len(caught) == 1
    assert caught[0].filename == __file__
    calls[name](payload=500.0, slope=(0.0, 0.0))


def test_a_bare_array_at_rest_under_assumed_values_gives_none(loader):
    loader.margins(np.array(loader.posture()))
    loader.linearize(np.array(loader.rest_state()))
    loader.simulate(0.01, voltage=..., x0=np.array(loader.rest_state()))


def test_dynamics_warn_of_a_state_with_another_payload(loader):
    light = loader.dynamics(payload=0.0)
    light.gravity(loader.posture(payload=0.0))
    with pytest.warns(UserWarning, match='dynamics with payload 0 kg.*found a state with: payload 500 kg'):
        light.gravity(loader.posture(payload=500.0))


def test_conditions_are_kept_by_results_of_a_state(loader):
    state = loader.rest_state(payload=500.0)
    for array in (
        state[:10],
        state.copy(),
        state + 0.0,
        pickle.loads(pickle.dumps(state)),
        loader.posture(payload=500.0),
    ):
        assert array.conditions.payload == 500.0
    assert type(np.array(state)) is np.ndarray
    assert isinstance(state[3], float)


@pytest.mark.parametrize('seed', range(12))
def test_random_sequences_of_calls_depend_only_on_their_arguments(loader, seed):
    """Conditions of states have the same effect as the same values passed to every call, or to the machine."""
    rng = np.random.default_rng(seed)
    payload, slope = float(rng.uniform(0.0, 5000.0)), tuple(rng.uniform(-0.05, 0.05, 2))
    joints = {'swing_joint': float(rng.uniform(-1.0, 1.0)), 'boom_joint': float(rng.uniform(0.0, 0.6))}
    conditions = {'payload': payload, 'slope': slope}
    fixed = loader.carrying(payload, slope)
    state = loader.rest_state(joints, **conditions)
    for _ in range(4):
        bare = np.array(state)
        kind = rng.integers(4)
        if kind == 0:
            results = [machine.margins(q[:10])['static'].value for machine, q in ((loader, state), (fixed, bare))]
            results.append(loader.margins(bare[:10], **conditions)['static'].value)
        elif kind == 1:
            results = [machine.linearize(x).A for machine, x in ((loader, state), (fixed, bare))]
            results.append(loader.linearize(bare, **conditions).A)
        elif kind == 2:
            reactions = [
                reaction.reactions(q[:10], joint='stick_joint') for reaction, q in ((loader, state), (fixed, bare))
            ]
            results = [
                machine.torque
                for machine in (*reactions, loader.reactions(bare[:10], joint='stick_joint', **conditions))
            ]
        else:
            volts = {'boom': float(rng.uniform(-2.0, 2.0))}
            runs = [machine.simulate(0.05, voltage=volts, x0=x) for machine, x in ((loader, state), (fixed, bare))]
            runs.append(loader.simulate(0.05, voltage=volts, x0=bare, **conditions))
            results = [run.x for run in runs]
            state = runs[0].last
        for other in results[1:]:
            np.testing.assert_array_equal(np.array(results[0]), np.array(other))

"""A bridge clamps its commands to the bounds of the mapping and reports it."""

from __future__ import annotations

import pytest

pytest.importorskip('cantools')
pytest.importorskip('can')

from can_testing import Wires, ask, bridge_on, mapping_in, run
from node_testing import statuses


def test_a_command_beyond_the_bounds_of_the_mapping_is_clamped_and_named(context, tmp_path, held):
    path, old = mapping_in(tmp_path), 'ValveCommands.BoomVolts'
    path.write_text(path.read_text().replace(old, f'{old}, lower: -0.5, upper: 1.5'))
    node, wires = bridge_on(context, 'bounds', path), Wires('bounds', held, path)
    try:
        run(node, wires, command=0.0)
        assert ask(node, 'arm').success
        assert run(node, wires, 0.3, command=2.0)[-1] == pytest.approx(1.5)
        assert list(node.commands_out.last.data) == [1.5, 0.0, 0.0]
        status = statuses(node.diagnostics.publisher.last)['state']
        assert status.message == 'clamped: boom: expected -0.5 to 1.5 V, found 2 V'
        run(node, wires, command=0.0)
        assert ask(node, 'activate').success
        assert run(node, wires, 0.3, command=-8.0)[-1] == pytest.approx(-0.5)
    finally:
        node.destroy_node()
        wires.bus.shutdown()

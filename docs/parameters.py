"""The page of the nodes' parameters, from the files that the nodes read; `docs/site/hooks.py` adds it to the site."""

from __future__ import annotations

from dyn_nodes.nodes.parameters import Declared, all_parameters, nodes_with_parameters

HEAD = """# Parameters of the nodes

Generated from `dyn_nodes/nodes/parameter_files/` when the site is built. The running node says the same:
`dyn-nodes param describe /dynamics_node speed`, or `ros2 param describe`. A value outside of its
range is refused, at the start and later. Those marked *live* can be set while the node runs; the others are fixed when
it starts.

Every node has `use_sim_time` too (take the time from `/clock`), and for its topics the parameters of
[QoS overrides](middleware.md#qos-overrides).
"""
COLUMNS = ('parameter', 'type', 'default', 'unit', 'range', 'live', 'meaning')


def text() -> str:
    """Return the whole page."""
    return '\n'.join([HEAD, *(_section(node) for node in nodes_with_parameters())])


def _section(node: str) -> str:
    table = [_row(COLUMNS), _row(['---'] * len(COLUMNS))]
    table += [_row(_cells(declared)) for declared in all_parameters(node)]
    return '\n'.join([f'## {node}', '', *table, ''])


def _row(cells: object) -> str:
    return '| ' + ' | '.join(cells) + ' |'  # type: ignore[call-overload]


def _cells(declared: Declared) -> list[str]:
    live = '' if declared.read_only else 'live'
    default, accepted = declared.default_text('`'), declared.accepted('`')
    return [f'`{declared.shown_name}`', declared.type, default, declared.unit, accepted, live, declared.description]

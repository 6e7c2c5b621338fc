"""The page of the nodes' parameters, from the files that the nodes read; `docs/site/hooks.py` adds it to the site."""

from __future__ import annotations

from dyn_nodes.nodes.parameters import Declared, all_parameters, nodes_with_parameters

HEAD = """# Parameters of the nodes

This page is generated from `dyn_nodes/nodes/parameter_files/`. A running node describes its parameters, too:
`dyn-nodes param describe /dynamics_node speed`, or `ros2 param describe`. A node rejects a value outside of its range.
Parameters marked *live* can be set while the node runs; the others are fixed when it starts.

Every node also has `use_sim_time` (take the time from `/clock`) and, for its topics, the parameters of
[QoS overrides](middleware.md#qos-overrides).
"""


def text() -> str:
    """Return the whole page."""
    return '\n'.join([HEAD, *(_section(node) for node in nodes_with_parameters())])


def _section(node: str) -> str:
    return '\n'.join([f'## {node}', '', *(_definition(declared) for declared in all_parameters(node))])


def _definition(declared: Declared) -> str:
    """Return the entry of a parameter: its name, then a line of facts, then its description."""
    unit = f' {declared.unit}' if declared.unit else ''
    facts = [declared.type, f'default {declared.default_text("`")}{unit}']
    if declared.accepted('`'):
        facts.append(f'range {declared.accepted("`")}')
    if not declared.read_only:
        facts.append('*live*')
    return f'`{declared.shown_name}`\n:   {", ".join(facts)}  \n    {declared.description}\n'

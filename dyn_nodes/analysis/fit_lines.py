"""Lines for the machine files from a fit: YAML, without `assumed`, and URDF, with the identified values only."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from dyn_nodes.analysis.machine_fit import SECTIONS, MachineFit, dry_is_seen, is_seen, valve_quantities
from dyn_nodes.analysis.mechanics_fit import Quantity
from dyn_nodes.common.arrays import Array
from dyn_nodes.common.printing import printable, xml_remark, yaml_word
from dyn_nodes.multibody import build_tree
from dyn_nodes.multibody.regressor import mass_properties
from dyn_nodes.multibody.tree import Tree

GROUPS = ('valve', 'supply')


def yaml_lines(fit: MachineFit) -> str:
    """Return the replacement lines for the machine YAML, with intervals and the log as remarks."""
    lines = [
        f'# from {printable(fit.log)}, {fit.used[0]:.6g} to {fit.used[1]:.6g} s; +- intervals of 95 %',
        'actuators:',
    ]
    for actuator in fit.machine.actuators:
        entries = list(_entries(fit, actuator.name))
        if not entries:
            continue
        lines.append(f'  {yaml_word(actuator.name)}:')
        for group in GROUPS:
            members = [(key, quantity) for section, key, quantity in entries if section == group]
            if members:
                lines.append(f'    {group}:')
                lines += [f'      {_entry(key, quantity)}' for key, quantity in members]
        lines += [f'    {_entry(key, quantity)}' for section, key, quantity in entries if not section]
    return '\n'.join(lines) if len(lines) > 2 else lines[0]


def _entries(fit: MachineFit, name: str) -> Iterator[tuple[str, str, Quantity]]:
    """Yield group, key and value of every identified parameter of an actuator."""
    if name in fit.valves:
        for key, quantity in valve_quantities(fit.valves[name]).items():
            if is_seen(key, quantity):
                yield SECTIONS[key], key, quantity
    if fit.mechanics is not None and name in fit.mechanics.viscous:
        quantity = fit.mechanics.viscous[name]
        if is_seen('viscous', quantity):
            yield '', 'viscous', quantity


def _entry(key: str, quantity: Quantity) -> str:
    return f'{key}: {_number(max(quantity.value, 0.0))}  # +- {quantity.half_width:.2g}'


def _number(value: float) -> str:
    """Return a number with five digits and a point in the mantissa: YAML 1.1 reads 1e9 as text."""
    mantissa, exponent = f'{value:.4e}'.split('e')
    return f'{mantissa}e{int(exponent):+d}'


def urdf_lines(fit: MachineFit) -> str:
    """Return dry friction of joints and inertias of links for the URDF; empty if neither is identified.

    Links get the parameters nearest to the file that agree with all identified combinations. A joint offset
    belongs in the mapping of its sensor, see `offset_lines`.
    """
    if fit.mechanics is None:
        return ''
    lines = [f'<!-- from {xml_remark(fit.log)}, {fit.used[0]:.6g} to {fit.used[1]:.6g} s -->']
    for name, friction in fit.mechanics.dry.items():
        if dry_is_seen(fit, name):
            joint = fit.machine.joint(name)
            damping = f'damping="{joint.damping:.5g}" ' if joint.damping else ''
            text = f'<dynamics {damping}friction="{max(friction.value, 0.0):.5g}"/>'
            lines.append(f'<joint name={quoteattr(name)}> {text} <!-- +- {friction.half_width:.2g} --> </joint>')
    return '\n'.join([*lines, *_inertial_lines(fit)])


def _inertial_lines(fit: MachineFit) -> Iterator[str]:
    assert fit.mechanics is not None
    tree = build_tree(fit.machine)
    moved = [k for k, body in enumerate(tree.bodies) if body.kind != 'free']
    for index, k in enumerate(moved):
        links = [link for link in fit.machine.links if tree.frames[link.name].body == k and link.mass > 0.0]
        if len(links) != 1:
            continue  # the distribution among several links is not identifiable
        parameters = fit.mechanics.parameters[10 * index : 10 * index + 10]
        mass, com, inertia = _in_link(tree, links[0].name, parameters)
        xyz = ' '.join(f'{value:.5g}' for value in com)
        tensor = ' '.join(f'i{a}{b}="{inertia[i, j]:.5g}"' for (a, i), (b, j) in zip(*_PAIRS))
        text = f'<inertial> <origin xyz="{xyz}"/> <mass value="{mass:.5g}"/> <inertia {tensor}/> </inertial>'
        yield f'<link name={quoteattr(links[0].name)}> {text} </link>'


_AXES = (('x', 0), ('y', 1), ('z', 2))
_PAIRS = (
    [_AXES[i] for i in (0, 0, 0, 1, 1, 2)],
    [_AXES[j] for j in (0, 1, 2, 1, 2, 2)],
)


def _in_link(tree: Tree, link: str, parameters: Array) -> tuple[float, Array, Array]:
    """Return mass, centre of mass and inertia about it in the frame of a link, from parameters in its body's frame."""
    mass, com, inertia = mass_properties(parameters)
    frame = tree.frames[link]
    return mass, frame.R.T @ (com - frame.p), frame.R.T @ inertia @ frame.R


def offset_lines(fit: MachineFit) -> str:
    """Return the identified offsets of joints, for `joint_offset` in a mapping (docs/how_to/can.md); or nothing."""
    if fit.mechanics is None:
        return ''
    lines = []
    for name, offset in fit.mechanics.offsets.items():
        if offset.half_width < abs(offset.value):
            remark = f'# +- {offset.half_width:.2g}, add to the existing value'
            lines.append(f'  {yaml_word(name)}: {{joint_offset: {offset.value:.5f}}}  {remark}')
    return '\n'.join(['joints:', *lines]) if lines else ''

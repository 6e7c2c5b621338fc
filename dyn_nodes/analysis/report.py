"""Self-contained HTML report of a run, without network access or other files."""

from __future__ import annotations

import base64
import html
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib import metadata
from pathlib import Path
from string import Template
from typing import Any

from dyn_nodes.analysis.run_plots import HIGHEST_USE, Plot
from dyn_nodes.analysis.run_record import RunRecord
from dyn_nodes.analysis.summary import tightest_wheel, verdict
from dyn_nodes.common.percent import percent_of
from dyn_nodes.measures import measure_of
from dyn_nodes.model import Machine
from dyn_nodes.model.actuators import oil_actuators
from dyn_nodes.model.assumptions import lines

TEMPLATE = Path(__file__).with_name('report_page.html')
DISTRIBUTIONS = ('dyn_nodes', 'numpy', 'scipy', 'casadi', 'numba', 'cyclonedds', 'rosbags', 'matplotlib')

CAPTIONS: dict[str, tuple[str, str]] = {
    'base_rotation': (
        'Rotation of the base',
        'Tilt is the angle between the base and the ground’s normal; pitch (nose down positive) and roll are its '
        'parts. The wheels are compliant, so a loaded front sinks a little before the machine tips.',
    ),
    'wheel_loads': (
        'Wheel loads',
        'Force of the ground on each wheel along its normal. The ground can only push: a wheel with zero force has '
        'lifted. At rest the sum is the weight; in motion it differs by the vertical inertial force.',
    ),
    'margins': (
        'Stability margins',
        'Thick: the least value, which decides. Thin: each edge of the support polygon (or each wheel). '
        'The bar at the bottom marks a margin of zero. Measures of the loads fall to zero when wheels lift and '
        'stay there while the machine rocks; the static margin depends on the posture alone and reacts last.',
    ),
    'load_moment': (
        'Load moment',
        'Payload over the rated load of each posture, a share of the tipping load at rest and at most the payload '
        'limit of the machine. A load-moment indicator warns from 90 %; a limiter acts between 100 % and 110 %. '
        'Motion is not included: it is in the stability margins.',
    ),
    'friction_use': (
        'Friction use',
        'Friction force of each wheel over the friction limit: the static coefficient times the normal '
        'force. At 1 the wheel starts to slide; a sliding wheel may show less, because of its kinetic '
        'coefficient. A line has a gap if the use is unknown, or if a wheel without load slides. Lines end '
        f'at {HIGHEST_USE:g}.',
    ),
    'payload': (
        'Payload, estimated',
        'From the pressures of the actuators that carry it. After a change of the load, or with too few measurements, '
        'the interval is wide and the rated payload was used.',
    ),
    'pressures': (
        'Oil pressures',
        'Both chambers of each actuator, and its pump. The pump idles at about a megapascal through the open centre '
        'of the valve until the spool shuts it. A line at the make-up pressure cavitates: it draws oil from the '
        'tank.',
    ),
    'joint_angles': (
        'Joints',
        'Positions of the driven joints. A joint whose valve is neutral is held by trapped oil, which is slightly '
        'compressible.',
    ),
}


WHERE_MEASURED = ('load_moment', 'friction_use', 'payload')
"""Plots of optional topics, omitted if the bag lacks them."""


def write_report(
    record: RunRecord, summary: Mapping[str, Any], path: Path, plots: Mapping[str, Plot], command: str = ''
) -> None:
    """Write the page.

    Args:
        record: the run.
        summary: result of `summarize`.
        path: the HTML file.
        plots: result of `make_plots`.
        command: command line that produced the run.
    """
    state, label = _state(summary)
    page = Template(TEMPLATE.read_text(encoding='utf-8'))
    headline = verdict(dict(summary))
    text = page.substitute(
        title=html_text(headline),
        headline=html_text(headline).replace(' deg', '°'),
        state=state,
        label=html_text(label),
        subtitle=html_text(_subtitle(summary)),
        story=_story(summary),
        tiles=_tiles(summary),
        figures='\n'.join(_figures(plots)),
        loads=_loads_table(record, summary),
        margins=_margins_table(summary),
        friction=_friction_section(record.machine, summary),
        states=_states_section(summary),
        events=_events_table(summary),
        machine=_machine_section(record.machine, summary),
        topics=_topics_table(record, summary),
        making=_making(summary, command),
    )
    path.write_text(text, encoding='utf-8')


# --- parts -----------------------------------------------------------------------------------------------------------


def _state(summary: Mapping[str, Any]) -> tuple[str, str]:
    if summary.get('failure'):
        return 'bad', 'failed'
    if summary['overturned']:
        return 'bad', 'overturned'
    if summary.get('interrupted'):
        return 'warn', 'interrupted'
    if summary['recovered']:
        return 'good', 'recovered'
    if summary['lift_off_time_s'] is None:
        return 'good', 'stable'
    return 'warn', 'not recovered'


def _subtitle(summary: Mapping[str, Any]) -> str:
    parts = [summary['machine'] or 'unknown machine']
    if summary['payload_kg'] is not None:
        parts.append(f'{summary["payload_kg"]:,.0f} kg payload')
    parts.append(f'{summary["duration_s"]:.2f} s simulated')
    if summary.get('made_at'):
        parts.append(summary['made_at'])
    return ' · '.join(parts)


def _story(summary: Mapping[str, Any]) -> str:
    """Return a description of the run in sentences."""
    sentences = []
    for phase in summary['phases']:
        if phase['name'] in ('reach', 'recover'):
            action = 'reaches out' if phase['name'] == 'reach' else 'is pulled back to recover'
            sentences.append(f'From {phase["start_s"]:.1f} to {phase["end_s"]:.1f} s the arm {action}.')
    lift, down = summary['lift_off_time_s'], summary['touch_down_time_s']
    if lift is None:
        sentences.append('No wheel leaves the ground.')
    else:
        sentences.append(f'The first wheel lifts at {lift:.2f} s.')
    if summary['overturned']:
        sentences.append('The machine overturns: the run ends at its limit of tilt.')
    elif summary['max_base_rotation_deg'] is not None:
        peak, time = summary['max_base_rotation_deg'], summary['max_base_rotation_time_s']
        sentences.append(f'The base is tilted most at {time:.2f} s, by {peak:.2f}°.')
        if down is not None:
            sentences.append(f'The machine rocks; all wheels stay on the ground after {down:.2f} s.')
    error = summary['final_wheel_load_sum_error']
    if error is not None and not summary['overturned']:
        sentences.append(f'At the end the wheels carry the weight to within {_percent(abs(error))}.')
    return ' '.join(html_text(sentence) for sentence in sentences)


def _tiles(summary: Mapping[str, Any]) -> str:
    error = None if summary['overturned'] else summary['final_wheel_load_sum_error']
    rows = [
        ('Peak rotation of the base', _number(summary['max_base_rotation_deg'], '.2f', '°')),
        ('Time of the peak', _number(summary['max_base_rotation_time_s'], '.2f', ' s')),
        ('First wheel lifts at', _number(summary['lift_off_time_s'], '.2f', ' s', 'never')),
        ('All wheels down from', _number(summary['touch_down_time_s'], '.2f', ' s', '—')),
        ('Rotation at the end', _number(summary['final_base_rotation_deg'], '.2f', '°')),
        *_load_tile(summary['max_utilisation']),
        ('Wheel loads against the weight', _number(error, '+.4%', '')),
    ]
    return '\n'.join(
        f'<div class="tile"><b>{html_text(value)}</b><span>{html_text(name)}</span></div>' for name, value in rows
    )


def _load_tile(greatest: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    if greatest is None:
        return []
    value = 'no rated load' if greatest['value'] is None else f'{percent_of(greatest["value"])} %'
    return [(f'Greatest load of the rated load ({greatest["stage"]})', value)]


def _figures(plots: Mapping[str, Plot]) -> Iterable[str]:
    for name, (title, caption) in CAPTIONS.items():
        if name not in plots and name in WHERE_MEASURED:
            continue
        if name not in plots:
            yield f'<figure><h2>{title}</h2><p class="missing">The bag has no data for this plot.</p></figure>'
            continue
        image = base64.b64encode(plots[name].svg).decode()
        yield (
            f'<figure><h2>{title}</h2><img alt="{title} over time" src="data:image/svg+xml;base64,{image}">'
            f'<figcaption>{html_text(caption)}</figcaption></figure>'
        )


def _loads_table(record: RunRecord, summary: Mapping[str, Any]) -> str:
    rows = []
    total = summary['final_wheel_load_sum_n'] or 0.0
    for wheel, load in summary['final_wheel_loads_n'].items():
        history = record.wheel_loads[wheel][1]
        share = load / total if total else math.nan
        values = (history[0], history.min(), history.max(), load)
        rows.append((wheel.replace('_', ' '), *(f'{1e-3 * v:,.2f}' for v in values), f'{share:.1%}'))
    sums = ['' for _ in range(3)] + [f'{1e-3 * total:,.2f}', '100.0%']
    rows.append(('sum', *sums))
    if summary['weight_n'] is not None:
        note = '' if summary['weight_source'] == 'machine' else f' ({summary["weight_source"]})'
        rows.append((f'weight{note}', '', '', '', f'{1e-3 * summary["weight_n"]:,.2f}', ''))
    return html_table(('wheel', 'start, kN', 'least', 'greatest', 'end, kN', 'share'), rows)


def _margins_table(summary: Mapping[str, Any]) -> str:
    rows = []
    for name, least in summary['min_margins'].items():
        text = measure_of(name)
        value = '—' if least['value'] is None else text.display(least['value'])
        edge = (least['edge'] or '—').replace('_', ' ')
        time = _number(least['time_s'], '.2f', ' s')
        word = '—' if least['value'] is None else text.at_zero if text.is_zero(least['value']) else least['band']
        rows.append((text.label, value, word, time, edge, text.meaning))
    return html_table(('measure', 'least', 'state', 'first at', 'over', 'meaning'), rows, numbers=(1, 3))


def _friction_section(machine: Machine | None, summary: Mapping[str, Any]) -> str:
    """Return the greatest friction use of every wheel, the greatest first; empty if the bag has none."""
    uses = summary['max_friction_use']
    if not uses:
        return ''
    coefficients = {} if machine is None else {w.name: w.friction.static for w in machine.wheels if w.friction}
    rows = [
        (
            wheel.replace('_', ' '),
            _number(use['value'], '.2f', ''),
            _number(use['time_s'], '.2f', ' s'),
            _number(use['end'], '.2f', ''),
            _number(use['unknown_share'], '.1%', ''),
            _number(coefficients.get(wheel), 'g', ''),
        )
        for wheel, use in sorted(uses.items(), key=lambda item: -(item[1]['value'] or 0.0))
    ]
    table = html_table(('wheel', 'greatest', 'first at', 'end', 'no value', 'static friction'), rows)
    return f'<section><h2>Friction use of the wheels</h2>\n<p>{html_text(_tightest(uses))}</p>\n{table}</section>'


def _tightest(uses: dict[str, dict[str, Any]]) -> str:
    wheel = tightest_wheel(uses)
    if wheel is None:
        return 'The bag has no valid friction use.'
    use = uses[wheel]
    end = ', more than static friction can hold' if use['value'] > 1.0 else ''
    return f'Tightest wheel: {wheel.replace("_", " ")}, {use["value"]:.2f} at {use["time_s"]:.2f} s{end}.'


def _weighed(interval: Sequence[float] | None) -> list[tuple[str, str]]:
    """Return the row of an estimated payload."""
    if interval is None:
        return []
    lower, upper = interval
    return [('payload weighed at the end', f'{max(lower, 0.0):,.0f} to {max(upper, 0.0):,.0f} kg (95 %)')]


def _assumed_values(machine: Machine) -> str:
    """Return the keys of the machine YAML whose values are marked as assumed, with the reasons."""
    if not machine.assumed:
        return ''
    table = html_table(('value', 'why it is assumed'), sorted(machine.assumed.items()), numbers=())
    return f'<details><summary>{len(machine.assumed)} assumed values of the machine file</summary>{table}</details>'


def _states_section(summary: Mapping[str, Any]) -> str:
    """Return the states of the machine in the words of the cockpit; empty if they are unknown."""
    if not summary.get('states'):
        return ''
    rows = [(f'{entry["time_s"]:.2f} s', entry['words'], entry['figures']) for entry in summary['states']]
    return f'<section><h2>States</h2>\n{html_table(("from", "state", ""), rows, numbers=())}</section>'


def _events_table(summary: Mapping[str, Any]) -> str:
    if not summary['events']:
        return '<p class="missing">None recorded.</p>'
    events = summary['events']
    names = [(f'{e["time_s"]:.3f} s', e['name'].replace('_', ' '), e['text']) for e in events]
    return html_table(('time', 'what', ''), names, numbers=())


def _machine_section(machine: Machine | None, summary: Mapping[str, Any]) -> str:
    if machine is None:
        return (
            '<p class="missing">The machine is unknown: the bag has no robot_description, or no machine YAML of that '
            'name is installed. Specify one with <code>dyn-nodes report BAG --config YAML</code>.</p>'
        )
    facts = [
        ('name', machine.name),
        ('base', f'{machine.base.link}, {machine.base.attachment}'),
        ('mass without payload', f'{machine.total_mass:,.0f} kg'),
        ('payload', _number(summary['payload_kg'], ',.0f', ' kg')),
        *_weighed(summary['payload_interval_kg']),
        *(('assumed', line.removeprefix('assumed: ')) for line in lines(summary['assumed'])),
        ('joints', ', '.join(joint.name for joint in machine.movable_joints)),
        ('counts as overturned', f'from {math.degrees(machine.overturn_angle):.0f}°'),
        ('values marked as assumed', str(len(machine.assumed))),
    ]
    links = [
        (link.name, f'{link.mass:,.0f}', ', '.join(f'{v:.3f}' for v in link.com))
        for link in machine.links
        if link.mass > 0.0
    ]
    wheels = [
        (
            w.name.replace('_', ' '),
            ', '.join(f'{v:.2f}' for v in w.position),
            f'{1e-6 * w.stiffness:.3g}',
            f'{1e-3 * w.damping:.3g}',
            '—' if w.friction is None else f'{w.friction.static:g} / {w.friction.kinetic:g}',
        )
        for w in machine.wheels
    ]
    actuators = [
        (
            a.name,
            a.kind,
            a.joint,
            f'{6e4 * a.supply.flow:.0f}',
            f'{1e-6 * a.supply.relief_pressure:.0f}',
            f'{1e-6 * a.supply.bulk_modulus:.0f}',
        )
        for a in oil_actuators(machine.actuators)
    ]
    return '\n'.join(
        (
            html_table(('', ''), facts, numbers=(), head=False),
            _assumed_values(machine),
            html_table(('link', 'mass, kg', 'centre of mass, m'), links, numbers=(1, 2)),
            html_table(('wheel', 'position, m', 'stiffness, MN/m', 'damping, kN s/m', 'friction'), wheels),
            html_table(
                ('actuator', 'type', 'joint', 'flow, l/min', 'relief, MPa', 'bulk modulus, MPa'), actuators, (3, 4, 5)
            ),
        )
    )


def _topics_table(record: RunRecord, summary: Mapping[str, Any]) -> str:
    types = record.data.types
    rows = [(topic, types.get(topic, ''), f'{count:,}') for topic, count in summary['messages'].items()]
    return html_table(('topic', 'type', 'messages'), rows, numbers=(2,))


def _making(summary: Mapping[str, Any], command: str) -> str:
    rows = [('bag', f'{summary["bag"]} ({summary["storage"]}, {sum(summary["messages"].values()):,} messages)')]
    if command:
        rows.insert(0, ('command', command))
    if summary['wall_time_s'] is not None:
        rows.append(('wall time', f'{summary["wall_time_s"]:.1f} s for {summary["duration_s"]:.2f} s simulated'))
    rows.append(('made', datetime.now().astimezone().strftime('%Y-%m-%d %H:%M:%S %z')))
    rows.append(('on', f'{platform.system()} {platform.machine()}, Python {platform.python_version()}'))
    versions = ', '.join(f'{name} {version}' for name, version in installed_versions().items())
    rows.append(('with', versions))
    return html_table(('', ''), rows, numbers=(), head=False)


def installed_versions() -> dict[str, str]:
    """Return the versions of this package and of the packages that its results depend on."""
    versions = {}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


# --- text ------------------------------------------------------------------------------------------------------------


def html_text(value: object) -> str:
    """Return a value as text of a page."""
    return html.escape(str(value))


def _number(value: float | None, form: str, unit: str, absent: str = '—') -> str:
    return absent if value is None else f'{value:{form}}{unit}'


def _percent(value: float) -> str:
    return f'{100.0 * value:.2g} %' if value >= 1e-5 else '0.001 %'


def html_table(
    heads: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[int] | None = None, head: bool = True
) -> str:
    """Return an HTML table; `numbers`: the right-aligned columns; None for all but the first."""
    right = set(range(1, len(heads)) if numbers is None else numbers)

    def line(cells: Sequence[str], tag: str) -> str:
        marks = (' class="n"' if k in right else '' for k in range(len(cells)))
        return ''.join(f'<{tag}{mark}>{html_text(cell)}</{tag}>' for cell, mark in zip(cells, marks))

    top = f'<thead><tr>{line(heads, "th")}</tr></thead>' if head else ''
    body = '\n'.join(f'<tr>{line(row, "td")}</tr>' for row in rows)
    return f'<div class="scroll"><table>{top}<tbody>{body}</tbody></table></div>'

"""`dyn-nodes graph`: who talks to whom, as a picture or as text."""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out
from dyn_nodes.commands.node_graph import Talk
from dyn_nodes.commands.ros_graph import add_spin_time, cli_node, full_name, is_hidden, wait_for_discovery
from dyn_nodes.common.printing import printable

EVERYWHERE = ('/rosout', '/parameter_events')
"""Topics of every node: left out unless all are asked for."""
FORMATS = ('mermaid', 'dot', 'svg', 'png')
SUFFIXES = {'.mmd': 'mermaid', '.md': 'mermaid', '.dot': 'dot', '.gv': 'dot', '.svg': 'svg', '.png': 'png'}


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'graph',
        'Show which node talks to which over which topic.',
        'dyn-nodes graph\ndyn-nodes graph -o nodes.svg\ndyn-nodes graph --format dot | dot -Tpdf > nodes.pdf',
    )
    add_out(parser, 'its ending chooses the format', 'FILE')
    parser.add_argument('--format', choices=FORMATS, help='default: mermaid, a text')
    parser.add_argument('--all', action='store_true', help='with hidden nodes, /rosout and /parameter_events')
    parser.add_argument('--connected', action='store_true', help='only topics with a publisher and a subscriber')
    add_spin_time(parser)


def run(args: argparse.Namespace) -> int:
    """Print the graph, or write it to a file.

    Raises:
        CommandError: Nothing runs, the format is unknown, or the file can't be written.
    """
    kind = _format(args)
    with cli_node() as node:
        wait_for_discovery(node, args.spin_time)
        talk = find_talk(node, args.all, args.connected)
    if not talk.nodes:
        raise CommandError('no nodes are running')
    if kind in TEXTS:
        text = TEXTS[kind](talk)
        if args.out is None:
            print(text, end='')
            return 0
        _write(args.out, lambda path: path.write_text(text))
    else:
        from dyn_nodes.commands.graph_picture import draw

        _write(args.out, lambda path: draw(talk, path, kind))
    print(f'{len(talk.nodes)} nodes and {len(talk.types)} topics in {args.out}')
    return 0


def _format(args: argparse.Namespace) -> str:
    if args.out is None:
        if args.format in ('svg', 'png'):
            raise CommandError(f'--format {args.format}: expected a file, --out FILE', 2)
        return args.format or 'mermaid'
    kind = args.format or SUFFIXES.get(args.out.suffix.lower())
    if kind is None:
        raise CommandError(f'--out: expected an ending of {", ".join(SUFFIXES)}, found {args.out.name!r}', 2)
    return kind


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    try:
        write(path)
    except OSError as error:
        raise CommandError(f'{path}: {error.strerror}') from None


def find_talk(node: Any, everything: bool, connected: bool) -> Talk:
    """Ask discovery.

    Args:
        node: This command's node.
        everything: With hidden nodes and topics, and those of every node.
        connected: Only topics with both ends.
    """
    this_node = node.get_fully_qualified_name()
    talk = Talk()
    for name, namespace in node.get_node_names_and_namespaces():
        full = full_name(name, namespace)
        if full == this_node or (is_hidden(full) and not everything) or full in talk.nodes:
            continue
        talk.nodes.append(full)
        for query, ends in (
            (node.get_publisher_names_and_types_by_node, talk.publishers),
            (node.get_subscriber_names_and_types_by_node, talk.subscribers),
        ):
            for topic, kinds in query(name, namespace):
                if everything or not (topic in EVERYWHERE or is_hidden(topic)):
                    talk.types[topic] = ', '.join(kinds)
                    ends.setdefault(topic, []).append(full)
    talk.nodes.sort()
    if connected:
        talk.types = {t: kind for t, kind in talk.types.items() if t in talk.publishers and t in talk.subscribers}
    return talk


# --- texts -----------------------------------------------------------------------------------------------------------


def mermaid(talk: Talk) -> str:
    """Return a flowchart of Mermaid, which GitHub and GitLab show in Markdown."""
    nodes = {name: f'n{k}' for k, name in enumerate(talk.nodes)}
    topics = {name: f't{k}' for k, name in enumerate(talk.topics)}
    lines = ['flowchart LR']
    lines += [f'  {key}(["{html.escape(printable(name))}"])' for name, key in nodes.items()]
    for name, key in topics.items():
        label, kinds = (html.escape(printable(text)) for text in (name, talk.types[name]))
        lines.append(f'  {key}["{label}<br/>{kinds}"]')
    for node, topic, speaks in talk.edges():
        left, right = (nodes[node], topics[topic]) if speaks else (topics[topic], nodes[node])
        lines.append(f'  {left} --> {right}')
    return '\n'.join(lines) + '\n'


def dot(talk: Talk) -> str:
    """Return a digraph of Graphviz."""

    def quoted(text: str) -> str:
        return '"' + re.sub(r'(["\\])', r'\\\1', printable(text)) + '"'

    lines = ['digraph nodes {', '  rankdir=LR;', '  node [fontname="sans-serif"];']
    lines += [f'  {quoted("node " + name)} [label={quoted(name)}, shape=ellipse];' for name in talk.nodes]
    lines += [
        f'  {quoted("topic " + name)} [label={quoted(name)}, tooltip={quoted(talk.types[name])}, shape=box];'
        for name in talk.topics
    ]
    for node, topic, speaks in talk.edges():
        ends = [quoted(f'node {node}'), quoted(f'topic {topic}')]
        lines.append(f'  {" -> ".join(ends if speaks else reversed(ends))};')
    return '\n'.join([*lines, '}']) + '\n'


TEXTS: dict[str, Callable[[Talk], str]] = {'mermaid': mermaid, 'dot': dot}

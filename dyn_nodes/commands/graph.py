"""`dyn-nodes graph`: prints or draws the graph of nodes and topics."""

from __future__ import annotations

import argparse
import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dyn_nodes.commands import CommandError, Subparsers, add_command, add_out
from dyn_nodes.commands.node_graph import NodeGraph
from dyn_nodes.commands.ros_graph import add_spin_time, cli_node, full_name, is_hidden, wait_for_discovery
from dyn_nodes.common.printing import printable

EVERYWHERE = ('/rosout', '/parameter_events')
"""Topics of every node, which are left out without --all."""
FORMATS = ('mermaid', 'dot', 'svg', 'png')
SUFFIXES = {'.mmd': 'mermaid', '.md': 'mermaid', '.dot': 'dot', '.gv': 'dot', '.svg': 'svg', '.png': 'png'}


def add_parser(subparsers: Subparsers) -> None:
    """Add the command."""
    parser = add_command(
        subparsers,
        'graph',
        'Show the graph of nodes and topics.',
        'dyn-nodes graph\ndyn-nodes graph -o nodes.svg\ndyn-nodes graph --format dot | dot -Tpdf > nodes.pdf',
    )
    add_out(parser, 'file to write; its suffix sets the format', 'FILE')
    parser.add_argument('--format', choices=FORMATS, help='default: mermaid (text)')
    parser.add_argument('--all', action='store_true', help='include hidden nodes, /rosout and /parameter_events')
    parser.add_argument('--connected', action='store_true', help='only topics with a publisher and a subscriber')
    add_spin_time(parser)


def run(args: argparse.Namespace) -> int:
    """Print the graph, or write it to a file.

    Raises:
        CommandError: no node runs, the format is unknown, or the file can't be written.
    """
    kind = _format(args)
    with cli_node() as node:
        wait_for_discovery(node, args.spin_time)
        graph = find_graph(node, args.all, args.connected)
    if not graph.nodes:
        raise CommandError('no nodes are running')
    if kind in TEXTS:
        text = TEXTS[kind](graph)
        if args.out is None:
            print(text, end='')
            return 0
        _write(args.out, lambda path: path.write_text(text))
    else:
        from dyn_nodes.commands.graph_picture import draw

        _write(args.out, lambda path: draw(graph, path, kind))
    print(f'{len(graph.nodes)} nodes and {len(graph.types)} topics in {args.out}')
    return 0


def _format(args: argparse.Namespace) -> str:
    if args.out is None:
        if args.format in ('svg', 'png'):
            raise CommandError(f'--format {args.format}: expected a file, --out FILE', 2)
        return args.format or 'mermaid'
    kind = args.format or SUFFIXES.get(args.out.suffix.lower())
    if kind is None:
        raise CommandError(f'--out: expected a suffix of {", ".join(SUFFIXES)}, found {args.out.name!r}', 2)
    return kind


def _write(path: Path, write: Callable[[Path], Any]) -> None:
    try:
        write(path)
    except OSError as error:
        raise CommandError(f'{path}: {error.strerror}') from None


def find_graph(node: Any, everything: bool, connected: bool) -> NodeGraph:
    """Return the graph from discovery.

    Args:
        node: of this command.
        everything: include hidden nodes and topics and `EVERYWHERE`.
        connected: only topics with a publisher and a subscriber.
    """
    this_node = node.get_fully_qualified_name()
    graph = NodeGraph()
    for name, namespace in node.get_node_names_and_namespaces():
        full = full_name(name, namespace)
        if full == this_node or (is_hidden(full) and not everything) or full in graph.nodes:
            continue
        graph.nodes.append(full)
        for query, ends in (
            (node.get_publisher_names_and_types_by_node, graph.publishers),
            (node.get_subscriber_names_and_types_by_node, graph.subscribers),
        ):
            for topic, kinds in query(name, namespace):
                if everything or not (topic in EVERYWHERE or is_hidden(topic)):
                    graph.types[topic] = ', '.join(kinds)
                    ends.setdefault(topic, []).append(full)
    graph.nodes.sort()
    if connected:
        graph.types = {t: kind for t, kind in graph.types.items() if t in graph.publishers and t in graph.subscribers}
    return graph


# --- texts -----------------------------------------------------------------------------------------------------------


def mermaid(graph: NodeGraph) -> str:
    """Return a Mermaid flowchart, which GitHub and GitLab render in Markdown."""
    nodes = {name: f'n{k}' for k, name in enumerate(graph.nodes)}
    topics = {name: f't{k}' for k, name in enumerate(graph.topics)}
    lines = ['flowchart LR']
    lines += [f'  {key}(["{html.escape(printable(name))}"])' for name, key in nodes.items()]
    for name, key in topics.items():
        label, kinds = (html.escape(printable(text)) for text in (name, graph.types[name]))
        lines.append(f'  {key}["{label}<br/>{kinds}"]')
    for node, topic, publishes in graph.edges():
        left, right = (nodes[node], topics[topic]) if publishes else (topics[topic], nodes[node])
        lines.append(f'  {left} --> {right}')
    return '\n'.join(lines) + '\n'


def dot(graph: NodeGraph) -> str:
    """Return a Graphviz digraph."""

    def quoted(text: str) -> str:
        return '"' + re.sub(r'(["\\])', r'\\\1', printable(text)) + '"'

    lines = ['digraph nodes {', '  rankdir=LR;', '  node [fontname="sans-serif"];']
    lines += [f'  {quoted("node " + name)} [label={quoted(name)}, shape=ellipse];' for name in graph.nodes]
    lines += [
        f'  {quoted("topic " + name)} [label={quoted(name)}, tooltip={quoted(graph.types[name])}, shape=box];'
        for name in graph.topics
    ]
    for node, topic, publishes in graph.edges():
        ends = [quoted(f'node {node}'), quoted(f'topic {topic}')]
        lines.append(f'  {" -> ".join(ends if publishes else reversed(ends))};')
    return '\n'.join([*lines, '}']) + '\n'


TEXTS: dict[str, Callable[[NodeGraph], str]] = {'mermaid': mermaid, 'dot': dot}

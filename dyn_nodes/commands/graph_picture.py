"""Picture of `dyn-nodes graph`: publishers on the left, topics in the middle, subscribers on the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dyn_nodes.commands.node_graph import NodeGraph

ROW, MARGIN = 0.3, 0.6
LETTER, PADDING = 0.06, 0.1
"""Widths of a letter and of a label's edge, in; the label's font is 8 points."""
GAP = 2.6
COLOURS = ('#1f5a8a', '#b04a00', '#2c7a3f', '#7a3f99', '#8a6d00', '#006d77', '#a02c5a', '#555555')
SWEEPS = 8


def draw(graph: NodeGraph, path: Path, kind: str) -> None:
    """Write the picture.

    Args:
        graph: to draw.
        path: of the file.
        kind: 'svg' or 'png'.
    """
    from matplotlib.figure import Figure

    publishers, topics, subscribers = arranged(graph)
    height = ROW * max(len(topics), len(publishers), len(subscribers), 1) + 2 * MARGIN
    columns, width = _columns(publishers, topics, subscribers)
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0.0, width)
    axes.set_ylim(0.0, height)
    axes.axis('off')
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(graph.nodes)}
    positions = [_column(names, height) for names in (publishers, topics, subscribers)]
    for node, topic, publishes in graph.edges():
        left, right = (0, 1) if publishes else (1, 2)
        names = (node, topic) if publishes else (topic, node)
        start = columns[left] + _half(names[0]), positions[left][names[0]]
        end = columns[right] - _half(names[1]), positions[right][names[1]]
        _arrow(axes, start, end, colours[node])
    for column, x in ((0, columns[0]), (2, columns[2])):
        for name, y in positions[column].items():
            _label(axes, x, y, name, colours[name], 'round')
    for name, y in positions[1].items():
        _label(axes, columns[1], y, name, '#222222', 'square')
    for x, text in zip(columns, ('publish', 'topics', 'subscribe')):
        axes.text(x, height - 0.5 * MARGIN, text, ha='center', va='center', fontsize=10, color='#777777')
    figure.savefig(path, format=kind, dpi=120, metadata={'Date': None} if kind == 'svg' else None)


def arranged(graph: NodeGraph) -> tuple[list[str], list[str], list[str]]:
    """Return publishers, topics and subscribers in an order with few crossings (each at the mean of its partners)."""
    publishers = [name for name in graph.nodes if any(name in graph.publishers.get(t, []) for t in graph.topics)]
    subscribers = [name for name in graph.nodes if any(name in graph.subscribers.get(t, []) for t in graph.topics)]
    topics = graph.topics
    for _ in range(SWEEPS):
        publisher_ranks, subscriber_ranks = _ranks(publishers), _ranks(subscribers)
        partners = {
            topic: [publisher_ranks[n] for n in graph.publishers.get(topic, [])]
            + [subscriber_ranks[n] for n in graph.subscribers.get(topic, [])]
            for topic in topics
        }
        topics = _by_mean(topics, partners)
        ranks = _ranks(topics)
        for names, ends in ((publishers, graph.publishers), (subscribers, graph.subscribers)):
            names[:] = _by_mean(names, {n: [ranks[t] for t in topics if n in ends.get(t, [])] for n in names})
    return publishers, topics, subscribers


def _half(name: str) -> float:
    """Return half the width of a label, in."""
    return 0.5 * LETTER * len(name) + PADDING


def _columns(*columns: Sequence[str]) -> tuple[list[float], float]:
    """Return the centres of the columns and the width of the picture, in."""
    middles, x = [], MARGIN
    for names in columns:
        half = max(map(_half, names), default=1.0)
        middles.append(x + half)
        x += 2.0 * half + GAP
    return middles, x - GAP + MARGIN


def _ranks(names: Sequence[str]) -> dict[str, float]:
    """Return the relative positions of names, between 0 and 1."""
    return {name: (k + 0.5) / len(names) for k, name in enumerate(names)}


def _by_mean(names: Sequence[str], partners: Mapping[str, Sequence[float]]) -> list[str]:
    return sorted(names, key=lambda name: sum(partners[name]) / max(len(partners[name]), 1))


def _column(names: Sequence[str], height: float) -> dict[str, float]:
    """Return the heights of a column's entries, in, the first at the top."""
    room = height - 2 * MARGIN
    return {name: height - MARGIN - room * rank for name, rank in _ranks(names).items()}


def _label(axes: Any, x: float, y: float, text: str, colour: str, shape: str) -> None:
    box = {'boxstyle': f'{shape},pad=0.25', 'facecolor': 'white', 'edgecolor': colour, 'linewidth': 1.0}
    axes.text(x, y, text, ha='center', va='center', fontsize=8, color=colour, bbox=box, zorder=3)


def _arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    middle = 0.5 * (start[0] + end[0])
    curve = Curve(
        [start, (middle, start[1]), (middle, end[1]), end], [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
    )
    patch = FancyArrowPatch(path=curve, arrowstyle='-|>', mutation_scale=7, color=colour, linewidth=0.8, alpha=0.75)
    axes.add_patch(patch)

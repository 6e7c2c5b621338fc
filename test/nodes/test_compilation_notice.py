"""The first start of a machine is shown as a compilation, the second is not."""

from __future__ import annotations


def start_and_end(start_node, name: str, **parameters: object) -> str:
    """Run a node to its end; return all that it printed."""
    process = start_node(name, **parameters)
    printed, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return printed + errors


def test_a_node_shows_its_first_start_as_a_compilation_and_the_second_not(start_node, tmp_path, monkeypatch):
    monkeypatch.setenv('DYN_NODES_CACHE', str(tmp_path / 'cache'))
    options = {'machine': 'cart', 'mode': 'lockstep', 'partner': 'external', 'duration': 0.01}
    first = start_and_end(start_node, 'dynamics_node', **options)
    assert first.count(': compiling cart, once, about ') == 1
    assert first.count(': compiled in ') == 1
    assert first.index('compiling cart') < first.index('compiled in ')
    second = start_and_end(start_node, 'dynamics_node', **options)
    assert 'compiling' not in second
    assert 'compiled' not in second

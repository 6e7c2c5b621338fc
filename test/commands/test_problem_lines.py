"""Tests of the output of problems of a file."""

from __future__ import annotations

from dyn_nodes.commands.problem_lines import MOST_SHOWN, print_problems
from dyn_nodes.model.problems import Problem


def lines_of(count, capsys):
    print_problems([Problem('a.yaml', line, 'key', 'a number', 'none') for line in range(1, count + 1)])
    return capsys.readouterr().err.splitlines()


def test_only_the_first_of_many_problems_are_printed_with_their_number(capsys):
    assert lines_of(1, capsys) == ['a.yaml:1: key: expected a number, found none', '1 problem']
    assert len(lines_of(MOST_SHOWN, capsys)) == MOST_SHOWN + 1
    lines = lines_of(3 * MOST_SHOWN, capsys)
    assert len(lines) == MOST_SHOWN + 1
    assert lines[0].startswith('a.yaml:1: ')
    assert lines[-1] == f'150 problems, the first {MOST_SHOWN} are shown'

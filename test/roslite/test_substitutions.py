"""Substitutions and the safe evaluation of expressions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from draws import reached, reaches
from hypothesis import given
from hypothesis import strategies as st

from roslite.launching.errors import SubstitutionError
from roslite.launching.expression import ExpressionError, evaluate
from roslite.launching.substitutions import expand, split_command


@dataclass
class Context:
    variables: dict = field(default_factory=lambda: {'x': '3', 'name': 'boom', 'pick': 'x', 'spaced': 'a b'})
    environment: dict = field(default_factory=lambda: {'HOME': '/home/me', 'PATH': '/bin:/usr/bin'})
    file: Path = Path('/some/where/file.launch.xml')
    log_directory: Path | None = None


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('plain', 'plain'),
        ('', ''),
        ('$(var x)', '3'),
        ('a$(var x)b$(var name)', 'a3bboom'),
        ('$(var missing fallback)', 'fallback'),
        ('$(var $(var pick))', '3'),
        ('$(env HOME)', '/home/me'),
        ('$(env NOWHERE none)', 'none'),
        ("$(env NOWHERE 'two words')", 'two words'),
        ("$(env NOWHERE '')", ''),
        ('$(dirname)/x.yaml', '/some/where/x.yaml'),
        ('$(filename)', '/some/where/file.launch.xml'),
        ("$(eval '$(var x) * 2 + 1')", '7'),
        ("""$(eval '"$(var name)" == "boom"')""", 'True'),
        ('$(eval 1+2)', '3'),
        ('$(not true)', 'false'),
        ('$(and true $(not false))', 'true'),
        ('$(or false 0)', 'false'),
        ('$(equals $(var x) 3.0)', 'true'),
        ('$(equals boom $(var name))', 'true'),
        ('$(not-equals 1 true)', 'false'),
        ('$(if $(equals $(var x) 3) yes no)', 'yes'),
        ('$(any false 0 on)', 'true'),
        ('$(all true 1 no)', 'false'),
        (r'\$(var x)', '$(var x)'),
        (r'a\\b', r'a\b'),
        ('5$', '5$'),
        ('cost: $5', 'cost: $5'),
    ],
)
def test_substitution_equals_ros2_launch(text, expected):
    assert expand(text, Context()) == expected


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('$(var nothing)', "'nothing' does not exist"),
        ('$(env NOWHERE)', 'not set'),
        ('$(var', 'expected )'),
        ('$(var x', 'expected )'),
        ('$()', 'expected a name'),
        ('$(var  x)', 'more than one space'),
        ("$(var 'x)", "expected '"),
        ('$(unknown x)', 'expected one of the substitutions'),
        ('$(var)', 'expected 1 to 2 argument(s), found 0'),
        ('$(dirname x)', 'expected 0 argument(s), found 1'),
        ('$(eval 1 + 2)', 'must be quoted'),
        ('$(not maybe)', 'expected true or false'),
        ("$(command 'rm -rf /')", 'rejected'),
        ('$(command ls)', 'may not run commands'),
        ('$(find-pkg-share no_such_package)', 'needs a ROS 2 installation'),
        ('$(find-exec no-such-program)', 'not found on PATH'),
        ("$(eval '1' 'os')", "expected the module 'math'"),
        ('$(log_dir)', 'unknown before'),
        ('$(file-content /no/such/file)', 'cannot be read'),
    ],
)
def test_a_wrong_substitution_reports_the_expected_one(text, part):
    with pytest.raises(SubstitutionError) as caught:
        expand(text, Context())
    assert part in str(caught.value)


def test_deep_nesting_is_rejected_and_not_a_crash():
    with pytest.raises(SubstitutionError, match='nested'):
        expand('$(not ' * 5000 + 'true' + ')' * 5000, Context())


def test_anonymous_name_is_a_valid_node_name_and_the_same_twice():
    context = Context()
    first = expand('$(anon talker)', context)
    assert first == expand('$(anon talker)', context)
    assert first.startswith('talker_')
    assert first.replace('_', '').isalnum()


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('a b  c', ['a', 'b', 'c']),
        ('run $(var spaced) x', ['run', 'a b', 'x']),
        ("bash -c 'echo $(var x); ls'", ['bash', '-c', 'echo 3; ls']),
        ('--file=$(dirname)/a.yaml', ['--file=/some/where/a.yaml']),
        ('$(var x) $(var x)', ['3', '3']),
        ("a '' b", ['a', '', 'b']),
        ('  ', []),
    ],
)
def test_a_command_is_split_and_substitutions_are_not(text, expected):
    assert split_command(text, Context()) == expected


@pytest.mark.parametrize(
    'text',
    [
        '1 + 2 * 3',
        '-7 // 2',
        '7 % 3',
        '2 ** 10',
        '1 < 2 <= 2',
        'not True',
        '1 if 2 > 3 else 4',
        "'a' + 'b'",
        "'a' in ['a', 'b']",
        '[1, 2, 3][-1]',
        'round(2.345, 1)',
        'max(1, 2.5)',
        "'True'.lower() == 'true'",
        '1 and 0 or 5',
        'int("3") + float("1.5")',
        '0 or ""',
        'len("abc")',
        '1e3',
    ],
)
def test_an_allowed_expression_equals_python(text):
    assert evaluate(text) == str(eval(text))


def test_functions_of_math_work_with_and_without_their_module():
    assert float(evaluate('math.sin(pi / 2) + cos(0)')) == pytest.approx(2.0)
    assert evaluate('math.tau') == str(math.tau)


@pytest.mark.parametrize(
    'text',
    [
        "__import__('os').system('true')",
        "open('/etc/passwd').read()",
        '().__class__.__bases__[0].__subclasses__()',
        "getattr(str, 'lower')",
        '(lambda: 1)()',
        '[x for x in [1]]',
        "f'{1}'",
        "'{0.__class__}'.format(1)",
        "exec('1')",
        'math.__loader__',
        'math.factorial(100000)',
        '9 ** 9 ** 9',
        '2 ** 65',
        "'a' * 10 ** 9",
        '[0] * 10 ** 9',
        "'%1000000000d' % 1",
        '1 << 10 ** 6',
        'print(1)',
        'x',
        'a := 1',
        'import os',
        '1; 2',
        '',
        '(' * 500,
        '-' * 900 + '1',
        '1' * 2000,
        '1 / 0',
        "int('x')",
        '...',
        "b'1'",
        '1j',
        '{1: 2}',
        '[1][5]',
        'round(number=1)',
        'max(*[1, 2])',
        "'a'.encode()",
        'str.lower("A")',
        '1 is 1',
        '2 @ 3',
        '~1',
        '1 | 2',
    ],
)
def test_anything_else_is_rejected(text):
    with pytest.raises(ExpressionError):
        evaluate(text)


WORDS = [
    *'0123456789',
    'x',
    'True',
    "'a'",
    '"b"',
    '1.5',
    '+',
    '-',
    '*',
    '/',
    '==',
    '<',
    '(',
    ')',
    ' and ',
    ' if ',
    ' else ',
    '[',
    ']',
    ',',
    '.',
    ' ',
]


def spelled(words, most):
    """Return texts of words of a language, some of them valid."""
    return st.lists(st.sampled_from(words), min_size=1, max_size=most).map(''.join)


@reaches(evaluated=6, rejected=8)
@given(st.text(max_size=60) | spelled(WORDS, 3) | spelled(WORDS, 12))
def test_any_text_is_evaluated_or_rejected_and_never_crashes(text):
    try:
        result = evaluate(text)
    except ExpressionError:
        reached('rejected')
        return
    reached('evaluated')
    assert isinstance(result, str)


PIECES = [
    '$(var x)',
    '$(var ',
    '$(env ',
    'HOME',
    'name',
    ')',
    '$(',
    '$(dirname)',
    "$(eval '",
    "')",
    '1 + 2',
    "'",
    '"',
    '\\',
    ' ',
    'a',
]


@reaches(replaced=8, rejected=8)
@given(st.text(alphabet='$() \'"\\varx-', max_size=40) | spelled(PIECES, 3) | spelled(PIECES, 10))
def test_any_text_is_expanded_or_rejected_and_never_crashes(text):
    try:
        result = expand(text, Context())
    except SubstitutionError:
        reached('rejected')
        return
    reached('replaced', result != text)
    assert isinstance(result, str)

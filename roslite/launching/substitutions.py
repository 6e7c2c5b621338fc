r"""Substitutions `$(...)` of launch files.

Grammar of ROS 2's front end: `$(name argument argument ...)` with arguments separated by single spaces. An argument may
be quoted with `'` or `"` and may contain substitutions, also in quotes: `$(eval '$(var a) + 1')`. A backslash makes the
next character literal.
"""

from __future__ import annotations

import math
import os
import random
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

from roslite.launching.budget import LONGEST_TEXT, Budget
from roslite.launching.errors import SubstitutionError
from roslite.launching.expression import ExpressionError, evaluate
from roslite.launching.packages import ament_prefix, registered
from roslite.textfile import TextFileError, read_text

MAXIMUM_DEPTH = 50


class Context(Protocol):
    """Data for substitutions; a context with a `budget` counts the text of all values."""

    variables: dict[str, str]
    environment: dict[str, str]
    file: Path
    log_directory: Path | None


@dataclass(frozen=True)
class Call:
    """A parsed `$(name arguments...)`."""

    name: str
    arguments: tuple[Template, ...]


Template = tuple['str | Call', ...]


@cache
def _ordinary(stop: str) -> re.Pattern[str]:
    """Return the pattern of literal text inside a template."""
    return re.compile(f'[^\\\\${re.escape(stop)}]+')


class _Scanner:
    """Recursive-descent parser of the text of one attribute."""

    def __init__(self, text: str):
        self.text = text
        self.position = 0
        self.depth = 0

    def peek(self, count: int = 1) -> str:
        return self.text[self.position : self.position + count]

    def template(self, stop: str = '') -> Template:
        """Parse text and substitutions up to one of the characters of `stop` (exclusive), or to the end."""
        parts: list[str | Call] = []
        text: list[str] = []
        ordinary = _ordinary(stop)
        while self.position < len(self.text):
            character = self.peek()
            if match := ordinary.match(self.text, self.position):
                text.append(match[0])
                self.position = match.end()
            elif self.peek(2) == '$(':
                if text:
                    parts.append(''.join(text))
                    text = []
                parts.append(self.call())
            elif character == '\\' and self.position + 1 < len(self.text):
                text.append(self.text[self.position + 1])
                self.position += 2
            elif character in stop:
                break
            else:
                text.append(character)
                self.position += 1
        if text or not parts:
            parts.append(''.join(text))
        return tuple(parts)

    def call(self) -> Call:
        """Parse `$(name arguments)` from its `$`."""
        start = self.position
        self.depth += 1
        if self.depth > MAXIMUM_DEPTH:
            raise SubstitutionError(f'expected at most {MAXIMUM_DEPTH} nested substitutions')
        self.position += 2
        start_of_name = self.position
        while self.peek() and (self.peek().isalnum() or self.peek() in '_-'):
            self.position += 1
        name = self.text[start_of_name : self.position]
        if not name or not name[0].isalpha():
            raise SubstitutionError(f'expected a name after $( in {self.text!r}')
        arguments = []
        while self.peek() == ' ':
            self.position += 1
            arguments.append(self.argument(name))
        if self.peek() != ')':
            next_character = repr(self.peek()) if self.peek() else 'the end'
            raise SubstitutionError(f'expected ) to close $({name} in {self.text[start:]!r}, found {next_character}')
        self.position += 1
        self.depth -= 1
        return Call(name, tuple(arguments))

    def argument(self, name: str) -> Template:
        """Parse one argument, quoted or not."""
        quote = self.peek()
        if quote and quote in '\'"':
            self.position += 1
            argument = self.template(quote)
            if self.peek() != quote:
                raise SubstitutionError(f'expected {quote} to close an argument of $({name} in {self.text!r}')
            self.position += 1
            return argument
        before = self.position
        argument = self.template(' \'"()')
        if self.position == before:
            raise SubstitutionError(f'expected an argument of $({name} in {self.text!r}; more than one space?')
        return argument


def parse(text: str) -> Template:
    """Return an attribute's text split into literal text and substitutions.

    Raises:
        SubstitutionError: a substitution is not closed or malformed.
    """
    return _Scanner(text).template()


def literal(text: str) -> str:
    r"""Return a text escaped for an attribute: `\` before each `$` and each `\`.

    Raises:
        SubstitutionError: the text has characters that a launch file cannot contain or that its readers would change.
    """
    if not text.isprintable():
        raise SubstitutionError(f'expected printable characters, found {text!a}')
    return text.replace('\\', '\\\\').replace('$', '\\$')


def perform(template: Template, context: Context) -> str:
    """Return the text of a template with all substitutions performed.

    Raises:
        SubstitutionError: an unknown substitution, a wrong number of arguments, a failure, or more text than allowed.
    """
    parts, length = [], 0
    for part in template:
        piece = part if isinstance(part, str) else _perform_call(part, context)
        length += len(piece)
        _budget_of(context).take_text(len(piece), length)
        parts.append(piece)
    return ''.join(parts)


def _budget_of(context: Context) -> Budget:
    budget = getattr(context, 'budget', None)
    return budget if isinstance(budget, Budget) else Budget()


def expand(text: str, context: Context) -> str:
    """Return a text with its substitutions parsed and performed."""
    return perform(parse(text), context)


def _perform_call(call: Call, context: Context) -> str:
    if call.name in _REJECTED:
        raise SubstitutionError(f'$({call.name}) is rejected: {_REJECTED[call.name]}')
    if call.name not in _SUBSTITUTIONS:
        supported = ', '.join(sorted(_SUBSTITUTIONS))
        raise SubstitutionError(f'expected one of the substitutions {supported}; found $({call.name})')
    function, least, most = _SUBSTITUTIONS[call.name]
    if not least <= len(call.arguments) <= most:
        expected = str(least) if least == most else f'{least} to {most}' if most < 99 else f'at least {least}'
        hint = "; an argument with spaces must be quoted: $(eval '1 + 2')" if call.name == 'eval' else ''
        raise SubstitutionError(f'$({call.name}) expected {expected} argument(s), found {len(call.arguments)}{hint}')
    return function(context, [perform(argument, context) for argument in call.arguments])


# --- the substitutions -----------------------------------------------------------------------------------------------


def _var(context: Context, arguments: list[str]) -> str:
    if arguments[0] in context.variables:
        return context.variables[arguments[0]]
    if len(arguments) == 2:
        return arguments[1]
    names = ', '.join(sorted(context.variables)) or 'none'
    raise SubstitutionError(f"the launch variable '{arguments[0]}' does not exist; known here: {names}")


def _env(context: Context, arguments: list[str]) -> str:
    if arguments[0] in context.environment:
        return context.environment[arguments[0]]
    if len(arguments) == 2:
        return arguments[1]
    raise SubstitutionError(f"the environment variable '{arguments[0]}' is not set, and no default is given")


def package_share(package: str) -> Path:
    """Return the share directory of a registered package, or else of one in the ament index.

    Raises:
        SubstitutionError: no such package.
    """
    python_package = registered(package)
    if python_package is not None:
        try:
            return python_package.share()
        except FileNotFoundError as error:
            raise SubstitutionError(str(error)) from None
    prefix = ament_prefix(package)
    if prefix is None:
        raise SubstitutionError(
            f"the package '{package}' was not found: it needs a ROS 2 installation with that package "
            '(source its setup.bash, or use ros2 launch)'
        )
    return prefix / 'share' / package


def _find_pkg_share(context: Context, arguments: list[str]) -> str:
    return str(package_share(arguments[0]))


def _find_pkg_prefix(context: Context, arguments: list[str]) -> str:
    prefix = ament_prefix(arguments[0])
    if prefix is not None:
        return str(prefix)
    return str(package_share(arguments[0]).parent.parent)


def _find_exec(context: Context, arguments: list[str]) -> str:
    path = shutil.which(arguments[0], path=context.environment.get('PATH'))
    if path is None:
        raise SubstitutionError(f"the program '{arguments[0]}' was not found on PATH")
    return path


def _dirname(context: Context, arguments: list[str]) -> str:
    return str(context.file.parent)


def _filename(context: Context, arguments: list[str]) -> str:
    return str(context.file)


def _file_content(context: Context, arguments: list[str]) -> str:
    try:
        return read_text(arguments[0], LONGEST_TEXT)
    except TextFileError as error:
        raise SubstitutionError(f"the file '{arguments[0]}' cannot be read: {error}") from None


def _eval(context: Context, arguments: list[str]) -> str:
    if len(arguments) == 2 and arguments[1].strip() not in ('', 'math'):
        raise SubstitutionError(f"$(eval): expected the module 'math', found {arguments[1]!r}")
    try:
        return evaluate(arguments[0])
    except ExpressionError as error:
        raise SubstitutionError(f'$(eval): {error}') from None


def boolean(text: str) -> bool:
    """Return the truth value of a YAML boolean, or of 1 and 0.

    Raises:
        SubstitutionError: another word.
    """
    word = text.strip().lower()
    if word in ('true', '1', 'yes', 'on'):
        return True
    if word in ('false', '0', 'no', 'off'):
        return False
    raise SubstitutionError(f'expected true or false, found {text!r}')


def _word(value: bool) -> str:
    return 'true' if value else 'false'


def _not(context: Context, arguments: list[str]) -> str:
    return _word(not boolean(arguments[0]))


def _all(context: Context, arguments: list[str]) -> str:
    values = [boolean(argument) for argument in arguments]  # every argument must be boolean
    return _word(all(values))


def _any(context: Context, arguments: list[str]) -> str:
    values = [boolean(argument) for argument in arguments]
    return _word(any(values))


def _is_equal(left: str, right: str) -> bool:
    words = ('true', 'false', '1', '0')
    if left.lower() in words and right.lower() in words:
        return (left.lower() in ('true', '1')) == (right.lower() in ('true', '1'))
    try:
        return math.isclose(float(left), float(right))
    except ValueError:
        return left == right


def _equals(context: Context, arguments: list[str]) -> str:
    return _word(_is_equal(*arguments))


def _not_equals(context: Context, arguments: list[str]) -> str:
    return _word(not _is_equal(*arguments))


def _if(context: Context, arguments: list[str]) -> str:
    if boolean(arguments[0]):
        return arguments[1]
    return arguments[2] if len(arguments) == 3 else ''


def _anon(context: Context, arguments: list[str]) -> str:
    key = 'anon' + arguments[0]
    if key not in context.variables:
        unique = f'{arguments[0]}_{socket.gethostname()}_{os.getpid()}_{random.randrange(2**63)}'
        context.variables[key] = ''.join(c if c.isalnum() or c == '_' else '_' for c in unique)
    return context.variables[key]


def _log_dir(context: Context, arguments: list[str]) -> str:
    if context.log_directory is None:
        raise SubstitutionError('the log directory is unknown before the launch')
    return str(context.log_directory)


Function = Callable[[Context, list[str]], str]
_SUBSTITUTIONS: dict[str, tuple[Function, int, int]] = {
    'var': (_var, 1, 2),
    'env': (_env, 1, 2),
    'find-pkg-share': (_find_pkg_share, 1, 1),
    'find-pkg-prefix': (_find_pkg_prefix, 1, 1),
    'find-exec': (_find_exec, 1, 1),
    'dirname': (_dirname, 0, 0),
    'filename': (_filename, 0, 0),
    'file-content': (_file_content, 1, 1),
    'eval': (_eval, 1, 2),
    'not': (_not, 1, 1),
    'and': (_all, 2, 2),
    'or': (_any, 2, 2),
    'all': (_all, 0, 99),
    'any': (_any, 0, 99),
    'equals': (_equals, 2, 2),
    'not-equals': (_not_equals, 2, 2),
    'if': (_if, 2, 3),
    'anon': (_anon, 1, 1),
    'log_dir': (_log_dir, 0, 0),
    'launch_log_dir': (_log_dir, 0, 0),
}
_REJECTED = {
    'command': 'a launch file may not run commands while it is read; start the program with <executable>, '
    'or give its result as an argument (name:=value)',
    'param': 'parameters of the launch are not available here; use <arg> and $(var)',
    'exec-in-pkg': "executables of other packages need ROS 2; use <node pkg='...' exec='...'>",
}


def split_command(text: str, context: Context) -> list[str]:
    """Return the words of a command line; results of substitutions are never split, as in `ros2 launch`.

    Args:
        text: attribute with words separated by spaces, quotes as in a shell, and substitutions.
        context: data for the substitutions.

    Raises:
        SubstitutionError: an unclosed quote, or a substitution that fails.
    """
    return [''.join(word) for word in _words(parse(text), context)]


def _words(template: Template, context: Context) -> Iterator[list[str]]:
    word: list[str] | None = None
    quote = ''
    for part in template:
        if isinstance(part, Call):
            word = word if word is not None else []
            word.append(perform((part,), context))
            continue
        _budget_of(context).take_text(len(part))
        for character in part:
            if not quote and character.isspace():
                if word is not None:
                    yield word
                word = None
                continue
            word = word if word is not None else []
            if quote or character not in '\'"':
                if character == quote:
                    quote = ''
                else:
                    word.append(character)
            else:
                quote = character
    if quote:
        raise SubstitutionError(f'expected {quote} to close a quoted word of the command')
    if word is not None:
        yield word

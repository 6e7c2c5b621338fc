"""State of the evaluation of a launch file, with scopes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from roslite.launching.budget import Budget, BudgetError
from roslite.launching.description import Argument
from roslite.launching.errors import SubstitutionError
from roslite.launching.substitutions import expand, split_command
from roslite.launching.xmltree import Element

_SCOPED = ('variables', 'environment', 'namespace', 'parameters', 'remappings', 'conditional')
_NAMESPACE = re.compile(r'/|(/[A-Za-z_][A-Za-z0-9_]*)+')


@dataclass
class LaunchContext:
    """State that the elements of a launch file read and write.

    Attributes:
        file: current file (`$(filename)`, `$(dirname)`).
        variables: launch variables, from arguments, `<arg>` and `<let>`.
        environment: environment of the following processes.
        log_directory: directory of logs and generated parameter files; None: nothing will be started.
        namespace: pushed namespace, empty or absolute.
        parameters: name and value of every active `<set_parameter>`.
        remappings: active `<set_remap>`.
        conditional: an enclosing element has an `if` or `unless`.
        declared: all arguments declared so far.
        generated: number of parameter files written.
        budget: resources of the whole evaluation.
        depth: number of enclosing groups and includes.
        includes: number of enclosing includes.
    """

    file: Path
    variables: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    log_directory: Path | None = None
    namespace: str = ''
    parameters: list[tuple[str, str]] = field(default_factory=list)
    remappings: list[tuple[str, str]] = field(default_factory=list)
    conditional: bool = False
    declared: dict[str, Argument] = field(default_factory=dict)
    generated: int = 0
    budget: Budget = field(default_factory=Budget)
    depth: int = 0
    includes: int = 0

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Restore the state at the end of the block, as for a `<group>`."""
        saved = {name: getattr(self, name) for name in _SCOPED}
        for name, value in saved.items():
            setattr(self, name, value.copy() if isinstance(value, dict | list) else value)
        try:
            yield
        finally:
            for name, value in saved.items():
                setattr(self, name, value)

    @contextmanager
    def inside(self, element: Element) -> Iterator[None]:
        """Enter a group or an included file, one level deeper. Raises LaunchError: too deep, or too much time."""
        self.depth += 1
        try:
            self.take(element, lambda: self.budget.check_time(self.depth))
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def within(self, file: Path, element: Element) -> Iterator[None]:
        """Set `$(dirname)` and `$(filename)` to an included file. Raises LaunchError: too many includes."""
        saved = self.file
        self.file, self.includes = file, self.includes + 1
        try:
            self.take(element, lambda: self.budget.take_include(self.includes))
            with self.inside(element):
                yield
        finally:
            self.file, self.includes = saved, self.includes - 1

    def take(self, element: Element, count: Callable[[], None]) -> None:
        """Count resources of an element. Raises LaunchError for the element beyond a limit."""
        try:
            count()
        except BudgetError as error:
            raise element.error(str(error)) from None

    @contextmanager
    def under_condition(self, conditional: bool) -> Iterator[None]:
        """Mark the elements inside as conditional."""
        saved = self.conditional
        self.conditional = saved or conditional
        try:
            yield
        finally:
            self.conditional = saved

    # --- attributes --------------------------------------------------------------------------------------------------

    def optional(self, element: Element, attribute: str) -> str | None:
        """Return an attribute with its substitutions performed, None if it is absent.

        Raises:
            LaunchError: a substitution fails.
        """
        if attribute not in element.attributes:
            return None
        try:
            return expand(element.attributes[attribute], self)
        except SubstitutionError as error:
            raise element.error(str(error), attribute) from None

    def required(self, element: Element, attribute: str) -> str:
        """Return a required attribute with its substitutions performed.

        Raises:
            LaunchError: the attribute is absent, or a substitution fails.
        """
        value = self.optional(element, attribute)
        if value is None:
            present = ', '.join(element.attributes) or 'none'
            raise element.error(f"expected the attribute '{attribute}', found {present}")
        return value

    def words(self, element: Element, attribute: str) -> list[str]:
        """Return an attribute split into words like a command line; empty if it is absent."""
        if attribute not in element.attributes:
            return []
        try:
            return split_command(element.attributes[attribute], self)
        except SubstitutionError as error:
            raise element.error(str(error), attribute) from None

    def flag(self, element: Element, attribute: str, default: bool = False) -> bool:
        """Return a boolean attribute: true, false, 1 or 0.

        Raises:
            LaunchError: another value.
        """
        value = self.optional(element, attribute)
        if value is None:
            return default
        word = value.strip().lower()
        if word not in ('true', 'false', '1', '0'):
            raise element.error(f'expected true, false, 1 or 0, found {value!r}', attribute)
        return word in ('true', '1')

    def seconds(self, element: Element, attribute: str, default: float) -> float:
        """Return an attribute as a non-negative number of seconds.

        Raises:
            LaunchError: another value.
        """
        value = self.optional(element, attribute)
        try:
            number = default if value is None else float(value)
        except ValueError:
            number = -1.0
        if not 0.0 <= number < float('inf'):
            raise element.error(f'expected a non-negative number of seconds, found {value!r}', attribute)
        return number

    def condition(self, element: Element) -> bool:
        """Return the condition `if` or `unless` of an element; True if it has neither.

        Raises:
            LaunchError: the element has both, or a condition is not boolean.
        """
        if 'if' in element.attributes and 'unless' in element.attributes:
            raise element.error("expected one of the attributes 'if' and 'unless', found both")
        if 'unless' in element.attributes:
            return not self.flag(element, 'unless')
        return self.flag(element, 'if', default=True)

    def resolve_namespace(self, namespace: str | None, element: Element) -> str:
        """Return a namespace made absolute below the pushed one; empty if there is none.

        Raises:
            LaunchError: not a valid ROS namespace.
        """
        if not namespace:
            return self.namespace
        if namespace.startswith('/'):
            absolute = namespace
        else:
            absolute = f'{self.namespace.rstrip("/")}/{namespace}'
        absolute = absolute.rstrip('/') or '/'
        if not _NAMESPACE.fullmatch(absolute):
            problem = f'expected names of letters, digits and underscores separated by /, found {namespace!r}'
            raise element.error(problem, 'namespace')
        return absolute

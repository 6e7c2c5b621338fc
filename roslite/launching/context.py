"""The state that changes while a launch file is evaluated, with its scopes."""

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
    """What the elements of a launch file read and write.

    Attributes:
        file: The file being read (`$(filename)`, `$(dirname)`).
        variables: Launch variables, from arguments, `<arg>` and `<let>`.
        environment: Environment of the processes to come.
        log_directory: Where logs and generated parameter files go; None when nothing is to be started.
        namespace: Pushed namespace, empty or absolute.
        parameters: Name and value of every `<set_parameter>` in force.
        remappings: The `<set_remap>` in force.
        conditional: Whether an element further out has an `if` or `unless`.
        declared: Every argument declared so far.
        generated: How many parameter files were written.
        budget: What the whole evaluation has taken.
        depth, includes: Groups and includes, and includes alone, around the element.
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
        """What is set inside is forgotten at the end, as in a `<group>`."""
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
        """The elements of a group or of an included file, one level deeper. Raises LaunchError: too deep, too long."""
        self.depth += 1
        try:
            self.take(element, lambda: self.budget.check_time(self.depth))
            yield
        finally:
            self.depth -= 1

    @contextmanager
    def within(self, file: Path, element: Element) -> Iterator[None]:
        """`$(dirname)` and `$(filename)` are those of an included file. Raises LaunchError: too many includes."""
        saved = self.file
        self.file, self.includes = file, self.includes + 1
        try:
            self.take(element, lambda: self.budget.take_include(self.includes))
            with self.inside(element):
                yield
        finally:
            self.file, self.includes = saved, self.includes - 1

    def take(self, element: Element, count: Callable[[], None]) -> None:
        """Count what an element takes. Raises LaunchError, of the element, where it is too much."""
        try:
            count()
        except BudgetError as error:
            raise element.error(str(error)) from None

    @contextmanager
    def under_condition(self, conditional: bool) -> Iterator[None]:
        """Marks what is inside as depending on a condition."""
        saved = self.conditional
        self.conditional = saved or conditional
        try:
            yield
        finally:
            self.conditional = saved

    # --- attributes --------------------------------------------------------------------------------------------------

    def optional(self, element: Element, attribute: str) -> str | None:
        """An attribute with its substitutions performed, None when it is absent.

        Raises:
            LaunchError: A substitution fails.
        """
        if attribute not in element.attributes:
            return None
        try:
            return expand(element.attributes[attribute], self)
        except SubstitutionError as error:
            raise element.error(str(error), attribute) from None

    def required(self, element: Element, attribute: str) -> str:
        """An attribute that must be there, with its substitutions performed.

        Raises:
            LaunchError: It is absent, or a substitution fails.
        """
        value = self.optional(element, attribute)
        if value is None:
            found = ', '.join(element.attributes) or 'none'
            raise element.error(f"expected the attribute '{attribute}', found {found}")
        return value

    def words(self, element: Element, attribute: str) -> list[str]:
        """An attribute split into words as a command line is; empty when it is absent."""
        if attribute not in element.attributes:
            return []
        try:
            return split_command(element.attributes[attribute], self)
        except SubstitutionError as error:
            raise element.error(str(error), attribute) from None

    def flag(self, element: Element, attribute: str, default: bool = False) -> bool:
        """A boolean attribute: true, false, 1 or 0.

        Raises:
            LaunchError: It is something else.
        """
        value = self.optional(element, attribute)
        if value is None:
            return default
        word = value.strip().lower()
        if word not in ('true', 'false', '1', '0'):
            raise element.error(f'expected true, false, 1 or 0, found {value!r}', attribute)
        return word in ('true', '1')

    def seconds(self, element: Element, attribute: str, default: float) -> float:
        """A non-negative number of seconds.

        Raises:
            LaunchError: It is something else.
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
        """Whether an element's `if` or `unless` lets it through; true when it has neither.

        Raises:
            LaunchError: It has both, or a condition is no truth value.
        """
        if 'if' in element.attributes and 'unless' in element.attributes:
            raise element.error("expected one of the attributes 'if' and 'unless', found both")
        if 'unless' in element.attributes:
            return not self.flag(element, 'unless')
        return self.flag(element, 'if', default=True)

    def resolve_namespace(self, namespace: str | None, element: Element) -> str:
        """A namespace made absolute below the pushed one; empty when there is none at all.

        Raises:
            LaunchError: It is not a valid ROS namespace.
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

"""Base class of contact records other than wheels, each with keys and checks. `contacts` has one file per kind."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, NamedTuple

from dyn_nodes.model.bodies import Array, Joint, Link
from dyn_nodes.model.magnitudes.relation import Relation
from dyn_nodes.model.problems import Report, did_you_mean
from dyn_nodes.model.schema import text
from dyn_nodes.model.source_map import SourceMap


class Support(NamedTuple):
    """A spring that supports a machine: a wheel, a foot, or a ground point of a contact.

    Attributes:
        name: name of the wheel, or `<contact>/<point>`.
        contact: name of the wheel or contact.
        key: of the contact in the machine YAML.
        link: to which the spring is attached.
        position: (3,) of the attachment in the frame of the link, m.
        stiffness: N/m.  damping: N s/m.  free_length: m.
        corner: whether the point can be a corner of the support polygon.
    """

    name: str
    contact: str
    key: str
    link: str
    position: Array
    stiffness: float
    damping: float
    free_length: float
    corner: bool = True


@dataclass(frozen=True, eq=False)
class ContactRecord:
    """A contact with one or more ground points in the machine YAML.

    Attributes:
        kind: `type` in the machine YAML.
    """

    kind: ClassVar[str]

    name: str
    link: Annotated[str, text('the link that it is attached to')]

    @property
    def supports(self) -> tuple[Support, ...]:
        """The springs of the contact."""
        raise NotImplementedError

    @property
    def drives(self) -> tuple[str, ...]:
        """Names of the joints that move the machine over the ground at this contact."""
        return ()

    def relations(self, extent: float) -> Iterator[Relation]:
        """Yield the relations of the contact's numbers to each other and to the size of the machine, m."""
        yield from ()

    def check(
        self, links: Mapping[str, Link], joints: Mapping[str, Joint], source_map: SourceMap, report: Report
    ) -> None:
        """Report a link that does not exist; kinds add checks."""
        if self.link not in links:
            where = f'contacts.{self.name}.link'
            report.add(source_map.line(where), where, 'a link of the URDF', did_you_mean(self.link, links))

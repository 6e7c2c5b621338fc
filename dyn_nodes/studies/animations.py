"""Studies whose motion can be looked at: `dyn-nodes study view NAME`."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from dyn_nodes.viewer.animation import Animation

VIEWS = {'saha-1991/disk': 'dyn_nodes.studies.saha_1991.disk_animation'}
"""Study -> module with `animations(variants)` and `DEFAULT_SCHEMES`."""


def animations_of(name: str, variants: Sequence[str] = ()) -> dict[str, Animation]:
    """Return the motions of a study by name.

    Args:
        name: of the study.
        variants: what the study calls them, such as schemes of integration; its own choice where empty.

    Raises:
        KeyError: no motion of that study, with those that there are.
        ValueError: an unknown variant.
    """
    if name not in VIEWS:
        raise KeyError(f'no motion of study {name!r} to look at; there are {", ".join(VIEWS)}')
    module = importlib.import_module(VIEWS[name])
    motions: dict[str, Animation] = module.animations(variants or module.DEFAULT_SCHEMES)
    return motions

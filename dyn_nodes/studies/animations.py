"""Studies whose motion can be viewed: `dyn-nodes study view NAME`."""

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
        variants: names defined by the study, such as integration schemes; empty: the study's defaults.

    Raises:
        KeyError: a study without motions; the message lists the studies that have them.
        ValueError: an unknown variant.
    """
    if name not in VIEWS:
        raise KeyError(f'no motion of study {name!r} to view; available: {", ".join(VIEWS)}')
    module = importlib.import_module(VIEWS[name])
    motions: dict[str, Animation] = module.animations(variants or module.DEFAULT_SCHEMES)
    return motions

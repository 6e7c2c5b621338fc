"""Property tests that count the draws that reach a case: a case without draws is not tested.

@reaches(relieved=4)
@given(pressure=st.floats(0.0, 4e7))
def test_...(pressure):
    reached('relieved', pressure > RELIEF)
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from typing import Any

_counts: list[Counter[str]] = []


def reached(case: str, is_so: bool = True) -> None:
    """Count a case of the running property test if the condition is true."""
    _counts[-1][case] += bool(is_so)


def reaches(**least: int) -> Callable[[Any], Any]:
    """Require a least number of counts of each case by `reached`, in all draws of a property test together.

    Place it above `given`. Raises AssertionError.
    """

    def counted(test: Any) -> Any:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            _counts.append(Counter())
            try:
                test(*args, **kwargs)
                few = {case: _counts[-1][case] for case, count in least.items() if _counts[-1][case] < count}
                assert not few, f'expected draws of {least} or more, found {few}'
            finally:
                _counts.pop()

        return run

    return counted

"""What holds for the whole suite."""

from __future__ import annotations

from hypothesis import settings

# No deadline: an example may compile a machine, and the machine that tests may be busy. Derandomized: a gate that is
# closed today and was open yesterday must have a change of the code behind it.
settings.register_profile('house', deadline=None, derandomize=True)
settings.load_profile('house')

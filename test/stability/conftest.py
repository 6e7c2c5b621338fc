"""No deadline of hypothesis: compiling a kernel takes longer."""

from hypothesis import settings

settings.register_profile('compiled', deadline=None)
settings.load_profile('compiled')

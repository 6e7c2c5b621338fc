"""Mutation tests of dyn_nodes: small changes of the source, each of which some test should notice.

`python -m mutants run` tries them, `python -m mutants report` writes docs/verification/mutants.md. The changes are
cosmic-ray's; the runs are not, because a process that imports NumPy, CasADi and Numba for every change costs more than
the tests do.
"""

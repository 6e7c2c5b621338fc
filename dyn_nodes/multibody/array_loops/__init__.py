"""Compiled loops over the links of a tree: a package of its own, so that a change elsewhere compiles nothing."""

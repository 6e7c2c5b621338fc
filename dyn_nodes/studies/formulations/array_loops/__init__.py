"""Compiled loops over the links of a tree: a separate package, so that a change elsewhere compiles nothing."""

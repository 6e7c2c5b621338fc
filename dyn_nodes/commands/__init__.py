"""The subcommands of `dyn-nodes`: one module each, with `add_parser(subparsers)` and `run(args) -> int`."""

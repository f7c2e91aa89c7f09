"""The command line: the same operators as the pages. Exit code 0 is fine, 2 is bad input with the reason on stderr."""

from core.cli.app import app, main

__all__ = ["app", "main"]

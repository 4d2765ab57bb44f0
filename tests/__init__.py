"""Baton: every test package is a package, so that no other `tests` can take its place."""

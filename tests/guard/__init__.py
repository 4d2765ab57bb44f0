"""Keeps tests, and every Python process that they start, off the network."""

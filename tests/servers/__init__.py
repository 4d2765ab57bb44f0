"""Servers that tests talk to over a real socket, on the loopback interface only."""

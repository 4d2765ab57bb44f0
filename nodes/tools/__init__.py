"""What agents can do: search and read the sources, query their tables, calculate, write and publish."""

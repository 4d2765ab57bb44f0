"""One file per format: from bytes to a `Document` whose places people can look up."""

"""What a run holds while it runs: what it is built from, the journal of its events, the desk of its agents."""

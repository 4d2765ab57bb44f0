"""One SQLite file: LangGraph's checkpoints and Store, and the leases."""

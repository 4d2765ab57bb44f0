"""PostgreSQL: LangGraph's checkpoints and Store, and leases that are held by the session which does a run's writes."""

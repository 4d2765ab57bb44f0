"""Who does the work: the built-in team (data) and the worker graph that runs an agent on a chat model."""

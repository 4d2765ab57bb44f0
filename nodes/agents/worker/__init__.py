"""The worker graph: brief, think, act, conclude. One agent, one task, one chat model, some tools."""

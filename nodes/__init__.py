"""What happens: one file per node of the graph, and the rooms they draw on."""

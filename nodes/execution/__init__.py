"""How the tasks of a plan are carried out: dispatched, gated, tried, contained, rolled back."""

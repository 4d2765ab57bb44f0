"""TODO: say what this room is for."""

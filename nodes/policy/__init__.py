"""Pure decisions: given what is true, what should happen. No I/O, no model, no clock."""

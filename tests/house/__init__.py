"""The house: rules about the repository itself that no other tool checks."""

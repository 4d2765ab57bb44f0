"""The control room: HTTP routes on the verbs of the facade, the page, and a run as one file."""

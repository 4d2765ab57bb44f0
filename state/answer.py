"""An answer as data: what stands behind each of its fields."""

from pydantic import BaseModel, ConfigDict

from state.citation import Citation


class DataField(BaseModel):
    """A field of a run's data, with the places that it rests on, or the reason why it is null."""

    model_config = ConfigDict(extra="forbid")

    path: str
    """Where it is, as a JSON pointer (RFC 6901): `/vendors/0/price`; empty for the data as a whole."""
    citations: list[Citation] = []
    reason: str = ""
    """Why it is null; of a field without citations that is not, what it rests on instead."""

"""What a run has used: tokens, money, model calls."""

from pydantic import BaseModel, ConfigDict


class Usage(BaseModel):
    """Tokens and money used by something: a call, an agent, a task or a run. Adds up with `+`."""

    model_config = ConfigDict(extra="forbid")

    input_tokens: int = 0
    output_tokens: int = 0
    calls: int = 0
    """Model calls made, those of agents that failed included."""
    cost: float = 0.0
    """US dollars, as declared by agents and tools; model prices are not guessed."""

    @property
    def total_tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            calls=self.calls + other.calls,
            cost=self.cost + other.cost,
        )

"""Settings from the environment and `.env`, read once, in the composition root."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from state.errors import SettingsInvalid


class Settings(BaseSettings):
    """Everything that is set from outside. Names are prefixed with `BATON_`, except OpenAI's own two."""

    model_config = SettingsConfigDict(env_prefix="BATON_", env_file=".env", extra="ignore", frozen=True)

    db: Path = Path("baton.db")
    """The SQLite file that holds everything."""
    artifacts: Path = Path("artifacts")
    """Folder for what agents write and for reports, next to the database; each thread has its own below it."""
    team: Path | None = None
    """A team file; the built-in team without."""
    model: str | None = None
    """The chat model's name; `offline` for the offline model even where there is a key."""
    model_timeout_s: float = Field(default=120, gt=0)
    """Seconds for one model call."""
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    """SQLite's durability against power loss; a killed process loses nothing with either."""
    max_source_mb: float = Field(default=50, gt=0)
    """Source files larger than this are left out."""
    keep_history: bool = False
    """Whether all checkpoints of a run stay when it has ended, to fork it from; else only its last one does."""
    notify: Annotated[list[str], NoDecode] = []
    """Where people are told that they are asked: Apprise URLs between spaces or commas; needs the extra `notify`."""
    notify_next: Annotated[list[str], NoDecode] = []
    """Where the next person is told, when a deadline has passed and the policy says `escalate`; as `notify` without."""
    watch_every_s: float = Field(default=2.0, ge=0)
    """Seconds between two looks of the server at what is due; 0: it does not look."""
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")

    @field_validator("notify", "notify_next", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return [url for url in re.split(r"[\s,]+", value) if url] if isinstance(value, str) else value


def read_settings() -> Settings:
    """The settings.

    Raises:
        SettingsInvalid: a variable that cannot be understood, by name.
    """
    try:
        return Settings()
    except ValidationError as error:
        wrong = "; ".join(f"{_variable(e['loc'])}: {e['msg']}" for e in error.errors())
        raise SettingsInvalid(f"the environment cannot be understood: {wrong}") from error


def beside(db: Path, folder: Path) -> Path:
    """The folder next to the database, unless it is absolute."""
    return folder if folder.is_absolute() else db.absolute().parent / folder


def _variable(loc: tuple[int | str, ...]) -> str:
    name = str(loc[0]).upper() if loc else "?"
    return name if name.startswith("OPENAI_") else f"BATON_{name}"

"""Settings from the environment and `.env`, read once, in the composition root."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, PlainSerializer, PlainValidator, SecretStr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from graph.address import Address, address_of
from nodes.tools.storage import Location, location
from state.errors import SettingsInvalid

UPLOADS = Path("uploads")
"""Folder for what clients of the server upload, next to the database; they may always name sources there."""


Place = Annotated[Location, PlainValidator(location)]
"""A folder or a file, at a path or at an address."""


class Settings(BaseSettings):
    """Everything that is set from outside. Names are prefixed with `BATON_`, except those of OpenAI and LangGraph."""

    model_config = SettingsConfigDict(env_prefix="BATON_", env_file=".env", extra="ignore", frozen=True)

    db: Annotated[Address, PlainValidator(address_of), PlainSerializer(str)] = Path("baton.db")
    """What holds everything: an SQLite file, or `postgresql://USER@HOST/NAME`."""
    artifacts: Path = Path("artifacts")
    """Folder for what agents write and for reports, next to the database; each thread has its own below it."""
    files: Place | None = None
    """Where all workers find files: a folder at the same path, or an address (`s3://…`, extra `files`).

    Sources of queued runs are below it, or at an address; artifacts go there.
    """
    team: Path | None = None
    """A team file; the built-in team without."""
    model: str | None = None
    """The chat model's name; `offline` for the offline model even where there is a key."""
    model_timeout_s: float = Field(default=120, gt=0)
    """Seconds without any data from a model's server after which a call is given up."""
    synchronous: Literal["NORMAL", "FULL"] = "NORMAL"
    """SQLite's durability against power loss; a killed process loses nothing with either."""
    max_source_mb: float = Field(default=50, gt=0)
    """Source files larger than this are left out."""
    keep_history: bool = False
    """Whether all checkpoints of a run stay when it has ended, to fork it from; else only its last one does."""
    notify: Annotated[list[SecretStr], NoDecode] = []
    """Where people are told that they are asked: Apprise URLs between spaces or commas; needs the extra `notify`."""
    notify_next: Annotated[list[SecretStr], NoDecode] = []
    """Where the next person is told, when a deadline has passed and the policy says `escalate`; as `notify` without."""
    fetch_inside: bool = False
    """Whether agents may fetch pages inside this network too; without, only of the internet at large."""
    search: str | None = None
    """The service of the tool `web_search`: `searxng=ADDRESS`, `tavily`, `brave`; an address may follow after `=`."""
    search_key: SecretStr | None = None
    """Its key."""
    watch_every_s: float = Field(default=2.0, ge=0)
    """Seconds between two looks of the server at what is due; 0: it does not look."""
    models: Annotated[list[str], NoDecode] = []
    """Names of chat models that assistants of the server may choose, between spaces or commas."""
    teams: Annotated[list[Path], NoDecode] = []
    """Team files that they may choose, each by its name without the ending; likewise."""
    telemetry: Literal["off", "otlp"] = "off"
    """Whether traces and metrics go to a collector, where OpenTelemetry's own `OTEL_…` variables say; extra `otel`."""
    policy: Path | None = None
    """A file of policy fields (YAML or JSON) that hold where nothing else is said: the server's, for its clients."""
    token: SecretStr | None = None
    """The bearer token that every request to the server needs; without one, whoever reaches it may use it."""
    origins: Annotated[list[str], NoDecode] = []
    """Pages that may use the server besides Studio's and this machine's, as `https://name:port`, and by these names."""
    source_roots: Annotated[list[Place], NoDecode] = [Path()]
    """Folders that clients of the server may name sources in, between spaces or commas: by default the working one."""
    sources: Annotated[list[Place], NoDecode] = []
    """What the server's runs may read where a client names no sources, in its folders for them (`source_roots`)."""
    audit_key: SecretStr | None = None
    """Seals the audit log: nobody without it can write the log anew. Keep it where the database is not."""
    audit_head: SecretStr = SecretStr("")
    """A file or an http(s) URL that gets the last seal of each audit log as it grows; empty: nowhere."""
    aes_key: SecretStr = Field(default=SecretStr(""), validation_alias="LANGGRAPH_AES_KEY")
    """Encrypts checkpoints; 16, 24 or 32 bytes. LangGraph's own name for it."""
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")

    @field_validator("origins")
    @classmethod
    def _are_origins(cls, value: list[str]) -> list[str]:
        if wrong := [origin for origin in value if not re.fullmatch(r"https?://[^/?#@\s]+", origin)]:
            raise ValueError(f"{wrong[0]!r} is not an origin; give it as https://name or http://name:port")
        return value

    @field_validator("notify", "notify_next", "origins", "source_roots", "sources", "models", "teams", mode="before")
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


def artifacts_of(settings: Settings, db: Address) -> Location:
    """Where agents write and reports go: in the folder that workers share where there is one."""
    return _shared(settings, db, settings.artifacts)


def uploads_of(settings: Settings, db: Address) -> Location:
    """Where files go that people give the server: in the folder that workers share where there is one."""
    return _shared(settings, db, UPLOADS)


def _shared(settings: Settings, db: Address, folder: Path) -> Location:
    return settings.files.absolute() / folder if settings.files else beside(db, folder)


def beside(db: Address, folder: Path) -> Path:
    """The folder next to the database, unless it is absolute; in the working folder where that is on a server."""
    return folder if folder.is_absolute() else (db.absolute().parent if isinstance(db, Path) else Path.cwd()) / folder


def _variable(loc: tuple[int | str, ...]) -> str:
    name = str(loc[0]).upper() if loc else "?"
    return name if name.startswith(("OPENAI_", "LANGGRAPH_")) else f"BATON_{name}"

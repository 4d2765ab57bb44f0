"""Where runs are kept: the path of an SQLite file, or the address of a PostgreSQL database.

Whatever shows an address shows it without its password: `str()` of one can be printed, logged, and typed again where
PGPASSWORD or a password file says the rest.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from state.errors import BadInput

SCHEMES = ("postgresql", "postgres")
_SECRETS = ("password", "sslpassword", "passfile")


@dataclass(frozen=True, repr=False)
class PostgresAddress:
    """A PostgreSQL database, as libpq's connection URI (postgresql.org/docs/current/libpq-connect.html)."""

    uri: str
    """With everything that is needed to connect, a password too if one was given."""

    def __str__(self) -> str:
        parts = urlsplit(self.uri)
        user, at, host = parts.netloc.rpartition("@")
        kept = [one for one in parts.query.split("&") if one and one.partition("=")[0] not in _SECRETS]
        shown = parts._replace(netloc=f"{user.partition(':')[0]}{at}{host}", query="&".join(kept), fragment="")
        return shown.geturl()

    __repr__ = __str__

    def without_secrets(self, text: str) -> str:
        """The text, with no password of this address in it."""
        parts = urlsplit(self.uri)
        given = [parts.netloc.rpartition("@")[0].partition(":")[2]]
        named = [one.partition("=") for one in parts.query.split("&")]
        given += [value for name, _, value in named if name in _SECRETS]
        for secret in sorted({*given, *map(unquote, given)} - {""}, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


Address = Path | PostgresAddress


def address_of(given: object) -> Address:
    """The address that somebody gave: a path, or text.

    Raises:
        BadInput: an address of something else, or one of PostgreSQL that a path was made of.
    """
    if isinstance(given, PostgresAddress):
        return given
    text = str(given)
    scheme, is_uri, _ = text.partition("://")
    if isinstance(given, str) and is_uri and re.fullmatch(r"[A-Za-z][\w+.-]*", scheme):
        if scheme.lower() not in SCHEMES:
            raise BadInput(f"{scheme}:// is no database of Baton's; give a file, or postgresql://USER@HOST/NAME")
        return PostgresAddress(text)
    if re.match(rf"({'|'.join(SCHEMES)}):/", text):
        raise BadInput("an address of PostgreSQL was made a path, which has lost a slash; give it as text")
    return Path(text)


def file_at(address: Address, what: str) -> Path:
    """The file, for what works on a file alone; `what` is that: "`baton doctor` needs".

    Raises:
        BadInput: it is no file.
    """
    if isinstance(address, Path):
        return address
    raise BadInput(f"{what} an SQLite file, and {address} is on PostgreSQL; give a file with --db, or as BATON_DB")

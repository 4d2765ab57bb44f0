"""PostgreSQL's errors in words that say what to do, with no password in them."""

from psycopg import Error, ProgrammingError, errors

from graph.address import PostgresAddress
from state.errors import DatabaseUnusable

MOST = 200
"""Characters of what the server itself says."""
_ADVICE = {
    "password authentication failed": "check the user and the password (PGPASSWORD, or a password file)",
    "no password supplied": "give a password (PGPASSWORD, or a password file)",
    "no pg_hba.conf entry": "the server does not let this user in from here: its pg_hba.conf says who may",
    'role "': "check the user; `createuser` makes one",
    "prepared statement": "a pooler of transactions stands in between: connect directly, or have it pool sessions",
    "Connection refused": "no server listens there: check the host and the port",
    "resolve host": "check the name of the host",
    "translate host name": "check the name of the host",
    'database "': "check the name; `createdb` makes one",
    "too many": "raise max_connections, or run fewer processes",
}
_AFTERWARDS = "what was finished is kept: when it can be used again, `baton resume` goes on"


def explained(address: PostgresAddress, error: Error) -> DatabaseUnusable:
    """What the error means for somebody who uses the database."""
    is_unread = isinstance(error, ProgrammingError) or "connection option" in str(error)
    if is_unread and error.sqlstate is None:  # it repeats what it cannot read of the address
        return DatabaseUnusable("the address of the database cannot be read; give postgresql://USER@HOST:PORT/NAME")
    said = " ".join(str(error).split())
    said = said.rpartition("FATAL: ")[2].strip() or said
    problem = f"database {address} cannot be used: {address.without_secrets(said)[:MOST]}"
    advice = _advice(error, said)
    passes = not advice or isinstance(error, errors.DiskFull)
    return DatabaseUnusable(f"{problem}; {advice}" if advice else problem, _AFTERWARDS if passes else "")


def _advice(error: Error, said: str) -> str:
    """What has to be done; nothing where the server is gone for a while."""
    match error:
        case errors.InsufficientPrivilege():
            return "grant this user the right to make and change tables in the database"
        case errors.DiskFull():
            return "free some space on the server"
        case errors.ReadOnlySqlTransaction():
            return "connect to the primary server: this one can only be read"
    return next((advice for sign, advice in _ADVICE.items() if sign in said), "")

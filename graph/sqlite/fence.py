"""Fences of an SQLite file: the transaction that writes looks whether the row of the lease still has its owner.

The token is the owner's name, which is used once.
"""

import sqlite3

from graph.fence import Fence, fences

_CHECK = """
SELECT 1 FROM store WHERE prefix = ? AND key = 'lease' AND (
    json_extract(value, '$.owner') = ? OR json_extract(value, '$.was') = ?
)
"""


class RowFence(Fence):
    """A lease that is a row of the file."""

    def __init__(self, thread_id: str, prefix: str, owner: str, connection: sqlite3.Connection) -> None:
        super().__init__(thread_id)
        self._prefix = prefix
        self._owner = owner
        self._connection = connection

    def check(self, cursor: sqlite3.Cursor) -> None:
        """Look whether the lease is still held, in the transaction that is about to write.

        Raises:
            LeaseLost: it is not.
        """
        if cursor.connection is not self._connection:  # an agent's work on another database
            return
        if self.is_lost or not cursor.execute(_CHECK, (self._prefix, self._owner, self._owner)).fetchone():
            self.lose()
            raise self.error()


def check_fences(cursor: sqlite3.Cursor) -> None:
    """Refuse to write under a lease that is not held any more.

    Raises:
        LeaseLost: another process has taken the thread over.
    """
    for fence in fences():
        if isinstance(fence, RowFence):
            fence.check(cursor)

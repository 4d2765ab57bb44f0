"""How checkpoints become bytes: LangGraph's serializer, of safe types only, and encrypted where there is a key.

The key is LangGraph's own setting, `LANGGRAPH_AES_KEY`: AES in EAX mode, by its `EncryptedSerializer` (the extra
`encryption`). What was written before there was a key is still read. Rows of the Store are not encrypted: SQLite
searches in them. See docs/security.md.
"""

from typing import Any

from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from state.errors import DatabaseUnusable, ExtraMissing, SettingsInvalid

KEY = "LANGGRAPH_AES_KEY"
_SIZES = (16, 24, 32)


class Serializer(SerializerProtocol):
    """Reads what is plain and what is encrypted by the key; writes encrypted where there is one."""

    def __init__(self, key: str = "") -> None:
        # A file may be anybody's: what is in it makes values of LangGraph's safe types, and calls nothing else.
        self._plain = JsonPlusSerializer(allowed_msgpack_modules=None)
        self._used: SerializerProtocol = _encrypting(key.encode(), self._plain) if key else self._plain

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The kind and the bytes of a value."""
        return self._used.dumps_typed(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """The value.

        Raises:
            DatabaseUnusable: it is encrypted, by another key than the one that is set.
        """
        is_encrypted = "+" in data[0]
        if is_encrypted and self._used is self._plain:
            raise DatabaseUnusable(f"the checkpoints are encrypted; set {KEY} to the key they were written with")
        try:
            return self._used.loads_typed(data)
        except ValueError as error:
            if is_encrypted and "MAC check failed" in str(error):
                raise DatabaseUnusable(
                    f"the checkpoints are encrypted with another key; set {KEY} to the one they were written with"
                ) from error
            raise


def _encrypting(key: bytes, plain: SerializerProtocol) -> EncryptedSerializer:
    if len(key) not in _SIZES:
        raise SettingsInvalid(f"{KEY} has {len(key)} bytes; give 16, 24 or 32")
    try:
        return EncryptedSerializer.from_pycryptodome_aes(plain, key=key)
    except ImportError as error:
        raise ExtraMissing(f"encrypted checkpoints ({KEY})", "encryption") from error

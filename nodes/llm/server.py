"""Which server a model asks, by its address: what several models of one server have in common."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit, urlunsplit

from langchain_core.language_models import BaseChatModel

_FIELDS = ("openai_api_base", "azure_endpoint", "anthropic_api_url", "base_url", "endpoint_url", "api_base")
"""Where LangChain's integrations keep the address."""
_OPENAI = "https://api.openai.com"
_WITHOUT = {"openai": _OPENAI, "openai-chat": _OPENAI}
"""Addresses of models that are made without one."""


def address_of(model: BaseChatModel) -> str:
    """The address of a model's server, without path, user and query; that of its kind of model, where it has none."""
    return _address(lambda field: getattr(model, field, None)) or _WITHOUT.get(model._llm_type, model._llm_type)


def address_in(about: Mapping[str, object], provider: str) -> str:
    """The same for a model as LangChain describes it to callback handlers."""
    fields = about.get("kwargs")
    known = _address(fields.get) if isinstance(fields, Mapping) else ""
    return known or _WITHOUT.get(provider, provider)


def _address(get: Callable[[str], object]) -> str:
    for url in (get(field) for field in _FIELDS):
        if isinstance(url, str) and urlsplit(url).netloc:
            parts = urlsplit(url)
            return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2].lower(), "", "", ""))
    return ""

"""Which chat model thinks: for the run, and for an agent that names its own."""

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from nodes.llm.ask import name_of
from nodes.llm.offline.model import OfflineModel
from nodes.llm.openai import make_chat_openai
from state.agent import ModelAt
from state.errors import SettingsInvalid

DEFAULT_MODEL = "gpt-4o-mini"
"""Used when there is a key or a server, but no BATON_MODEL: cheap, and does tool calls and structured replies."""
OFFLINE = "offline"
"""The name of the model that needs no network and no key."""
OPENAI_URL = "https://api.openai.com/v1"
NO_KEY = "no-key-needed"
"""Sent to servers of one's own, which want some key but not a particular one."""
PROVIDERS = frozenset(
    "anthropic anthropic_bedrock azure_ai azure_openai baseten bedrock bedrock_converse cohere deepseek "  # noqa: SIM905
    "fireworks google_anthropic_vertex google_genai google_vertexai groq huggingface ibm litellm mistralai nvidia "
    "ollama openai openrouter perplexity together upstage xai".split()
)
"""What may stand before the colon in `provider:name`; any other colon belongs to the name, as in `qwen2.5:0.5b`."""


class Models:
    """The models of a run: a default, and by name those that agents ask for, each made once."""

    def __init__(self, default: BaseChatModel, make: Callable[[str], BaseChatModel]) -> None:
        self.default = default
        self._make = make
        self._made: dict[str | ModelAt, BaseChatModel] = {}

    @property
    def name(self) -> str:
        """What people call the default model: `offline`, `gpt-4o-mini`."""
        return OFFLINE if self.is_offline else name_of(self.default)

    @property
    def is_offline(self) -> bool:
        """Does the default model work without a language model?"""
        return isinstance(self.default, OfflineModel)

    def for_agent(self, model: str | ModelAt | BaseChatModel | None) -> BaseChatModel:
        """The model of an agent: its own, the one it names, or the default.

        Making a model may read files; ask for it once before the work starts.

        Raises:
            SettingsInvalid: the name cannot be turned into a model here.

        """
        if model is None:
            return self.default
        if isinstance(model, BaseChatModel):
            return model
        if model not in self._made:
            self._made[model] = model_at(model) if isinstance(model, ModelAt) else self._make(model)
        return self._made[model]


def make_models(
    *,
    api_key: SecretStr | None = None,
    base_url: str | None = None,
    model: str | None = None,
    timeout_s: float = 60,
) -> Models:
    """The models that the settings ask for: OpenAI's, those of a compatible server, or the offline one.

    Args:
        api_key: OPENAI_API_KEY.
        base_url: OPENAI_BASE_URL; a server of one's own may do without a key.
        model: BATON_MODEL: `gpt-4o-mini`, `provider:name`, or `offline`.
        timeout_s: seconds without any data from the server after which a call is given up.

    Raises:
        SettingsInvalid: one of them cannot be used, or the model needs a key or a URL that is not there.

    """
    maker = _Maker(_usable_key(api_key), _usable_url(base_url), timeout_s)
    name = (model or "").strip() or (DEFAULT_MODEL if maker.has_server else OFFLINE)
    return Models(maker(name), maker)


class _Maker:
    def __init__(self, key: SecretStr | None, url: str | None, timeout_s: float) -> None:
        if not timeout_s > 0:
            raise SettingsInvalid(f"the time-out for models is {timeout_s} s; give more than 0")
        self.key, self.url, self.timeout_s = key, url, timeout_s

    @property
    def has_server(self) -> bool:
        return bool(self.key or self.url)

    def __call__(self, name: str) -> BaseChatModel:
        provider, _, rest = name.partition(":")
        if name == OFFLINE:
            return OfflineModel()
        if provider == "openai" and rest:
            return self._openai(rest)
        if provider in PROVIDERS and rest:
            return _from_langchain(name, self.timeout_s)
        return self._openai(name)

    def _openai(self, name: str) -> BaseChatModel:
        if not self.has_server:
            raise SettingsInvalid(
                f"the model {name!r} needs OPENAI_API_KEY or OPENAI_BASE_URL; set one of them, or use {OFFLINE!r}"
            )
        return make_chat_openai(
            model=name,
            api_key=self.key or SecretStr(NO_KEY),
            base_url=self.url or OPENAI_URL,
            timeout=self.timeout_s,
            stream_chunk_timeout=None,  # signs of life that are no text count, too
            max_retries=0,
            stream_usage=True,
            include_response_headers=True,
            temperature=0,
            # LangChain shares one pool of connections among event loops; one kept open would fail in the next loop.
            default_headers={"Connection": "close"},
        )


def model_at(where: ModelAt, timeout_s: float = 120) -> BaseChatModel:
    """A model of a server of its own. The run's key is not sent there: its own is named by `key_from`.

    Raises:
        SettingsInvalid: the variable that should have its key is not set.
    """
    key = os.environ.get(where.key_from, "") if where.key_from else NO_KEY
    if not key:
        raise SettingsInvalid(f"the model {where.name!r} at {where.base_url} needs {where.key_from}; set it")
    return _Maker(SecretStr(key), _usable_url(where.base_url), timeout_s)(f"openai:{where.name}")


def _from_langchain(name: str, timeout_s: float) -> BaseChatModel:
    if find_spec("langchain") is None:
        raise SettingsInvalid(f"the model {name!r} needs the package langchain; pip install langchain and its provider")
    try:
        made = import_module("langchain.chat_models").init_chat_model(
            name, timeout=timeout_s, max_retries=0, temperature=0
        )
    except Exception as error:
        raise SettingsInvalid(f"the model {name!r} cannot be set up: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(made, BaseChatModel):
        raise SettingsInvalid(f"the model {name!r} is not a chat model; name one that is")
    return made


def _usable_key(key: SecretStr | None) -> SecretStr | None:
    text = key.get_secret_value().strip() if key else ""
    if not (text.isascii() and text.isprintable()) or " " in text:
        raise SettingsInvalid("OPENAI_API_KEY has characters that no key has; copy it again")
    return SecretStr(text) if text else None


def _usable_url(url: str | None) -> str | None:
    text = (url or "").strip()
    if not text:
        return None
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SettingsInvalid(f"OPENAI_BASE_URL is {text!r}; give a URL such as http://127.0.0.1:8080/v1")
    return text

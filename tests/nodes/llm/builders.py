"""What these tests have in common: a real `ChatOpenAI` that talks to the stub server."""

from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from nodes.llm.choose import make_models

KEY = "sk-proj-Secret0123456789abcdef"


def model_at(url: str, *, name: str = "stub-model", key: str = KEY, timeout_s: float = 10) -> BaseChatModel:
    return make_models(api_key=SecretStr(key), base_url=url, model=name, timeout_s=timeout_s).default

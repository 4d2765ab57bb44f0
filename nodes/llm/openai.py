"""`ChatOpenAI`, imported when a model is made by it: OpenAI's client takes longer to import than all the rest.

Who asks whether something is OpenAI's does not import it either: before the import nothing can be.
"""

import sys
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel


def make_chat_openai(**fields: Any) -> BaseChatModel:
    """A `ChatOpenAI` of these fields."""
    made: BaseChatModel = import_module("langchain_openai").ChatOpenAI(**fields)
    return made


def is_chat_openai(model: BaseChatModel) -> bool:
    """Whether the model is a `ChatOpenAI`."""
    return isinstance(model, getattr(sys.modules.get("langchain_openai"), "ChatOpenAI", ()))


def is_at_openai(model: BaseChatModel) -> bool:
    """Whether a `ChatOpenAI` asks OpenAI itself, not another server of the same protocol."""
    url = getattr(model, "openai_api_base", None)
    return not url or urlsplit(str(url)).hostname == "api.openai.com"


def is_openai_error(error: Exception, name: str) -> bool:
    """Whether OpenAI's client calls the error `name`, or by a name below it."""
    return isinstance(error, getattr(sys.modules.get("openai"), name, ()))

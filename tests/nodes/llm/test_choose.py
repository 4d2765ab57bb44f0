"""Which model is used, and what is said when none can be."""

from importlib.util import find_spec

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from nodes.llm.choose import DEFAULT_MODEL, Models, make_models
from nodes.llm.offline.model import OfflineModel
from nodes.llm.scripted import ScriptedModel
from state.errors import SettingsInvalid

URL = "http://127.0.0.1:1/v1"
KEY = SecretStr("sk-test")


def openai(models: Models, name: str | None = None) -> ChatOpenAI:
    model = models.for_agent(name)
    assert isinstance(model, ChatOpenAI)
    return model


def test_without_key_and_server_the_offline_model_works() -> None:
    models = make_models()

    assert (models.name, models.is_offline) == ("offline", True)
    assert isinstance(models.for_agent(None), OfflineModel)


@pytest.mark.parametrize("blank", ["", "  "])
def test_blank_settings_count_as_none(blank: str) -> None:
    assert make_models(api_key=SecretStr(blank), base_url=blank, model=blank).is_offline


def test_with_a_key_alone_it_is_openai_with_the_default_model() -> None:
    models = make_models(api_key=KEY)

    assert (models.name, models.is_offline) == (DEFAULT_MODEL, False)
    assert openai(models).openai_api_base == "https://api.openai.com/v1"


def test_a_server_of_ones_own_needs_no_key() -> None:
    model = openai(make_models(base_url=URL, model="qwen2.5:0.5b"))

    assert (model.model_name, model.openai_api_base) == ("qwen2.5:0.5b", URL)


def test_calls_have_a_time_limit_and_are_not_tried_again_here() -> None:
    model = openai(make_models(api_key=KEY, timeout_s=3))

    assert (model.request_timeout, model.stream_chunk_timeout, model.max_retries) == (3, None, 0)


def test_offline_can_be_chosen_although_there_is_a_key() -> None:
    assert make_models(api_key=KEY, model="offline").is_offline


def test_an_agent_may_name_its_own_model_which_is_made_once() -> None:
    models = make_models(api_key=KEY, base_url=URL)

    assert openai(models, "big").model_name == "big"
    assert models.for_agent("big") is models.for_agent("big")
    assert openai(models, "openai:small").model_name == "small"
    assert isinstance(models.for_agent("offline"), OfflineModel)


def test_an_agent_may_bring_its_own_model() -> None:
    own = ScriptedModel(["hi"])

    assert make_models().for_agent(own) is own


def test_a_model_given_from_outside_is_named_after_itself() -> None:
    models = Models(ScriptedModel([]), make=lambda name: ScriptedModel([name]))

    assert (models.name, models.is_offline) == ("scripted", False)


@pytest.mark.parametrize("name", ["gpt-4o", "openai:gpt-4o", "qwen2.5:0.5b"])
def test_a_named_model_without_key_and_server_is_refused(name: str) -> None:
    with pytest.raises(SettingsInvalid, match="needs OPENAI_API_KEY or OPENAI_BASE_URL"):
        make_models(model=name)
    with pytest.raises(SettingsInvalid, match="needs OPENAI_API_KEY or OPENAI_BASE_URL"):
        make_models().for_agent(name)


@pytest.mark.skipif(find_spec("langchain") is not None, reason="langchain is installed")
def test_another_provider_needs_the_package_that_knows_it() -> None:
    with pytest.raises(SettingsInvalid, match="pip install langchain"):
        make_models(model="anthropic:claude-sonnet-4-5")


@pytest.mark.parametrize(
    "url", ["127.0.0.1:8080", "ftp://host/v1", "http://", "nonsense", "http://[::1", "http://h:port/v1"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(SettingsInvalid, match="OPENAI_BASE_URL"):
        make_models(base_url=url)


@pytest.mark.parametrize("key", ["sk-ä", "sk one", "sk-\nx"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(SettingsInvalid) as raised:
        make_models(api_key=SecretStr(key))

    assert key not in str(raised.value)


@pytest.mark.parametrize("timeout_s", [0, -1, float("nan")])
def test_a_time_limit_must_be_one(timeout_s: float) -> None:
    with pytest.raises(SettingsInvalid, match="more than 0"):
        make_models(timeout_s=timeout_s)

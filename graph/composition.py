"""The composition root: from settings and what a caller hands in to the services that nodes are built from."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast, get_args

from langchain_core.language_models import BaseChatModel

from graph.notifier import AppriseNotifier
from graph.policy_text import read_policy
from graph.settings import Settings, artifacts_of
from graph.team_file import open_team
from graph.witness import seals_of
from nodes.llm.choose import Models, make_models
from nodes.runtime.clock import Clock, Nobody, Notifier, SystemClock
from nodes.runtime.observing import NoObserver, Observer
from nodes.runtime.servers import PROCESS, Servers
from nodes.runtime.services import Services
from nodes.tools.search_service import Kind, SearchService
from nodes.tools.storage import Location
from state.agent import AgentSpec, Team
from state.errors import BadInput, SettingsInvalid
from state.policy import Policy, merged_policy
from state.text import Json

TeamLike = Team | str | Path | Iterable[AgentSpec] | None
PolicyLike = Policy | Json | None
ModelLike = BaseChatModel | str | None


def compose(
    settings: Settings,
    *,
    team: TeamLike = None,
    policy: PolicyLike = None,
    model: ModelLike = None,
    clock: Clock | None = None,
    artifacts: Location | None = None,
    notifier: Notifier | None = None,
) -> Services:
    """Services for one graph; what is not given comes from the settings.

    Policy fields: those of `policy`, over those of the team's file, over those of BATON_POLICY.

    Raises:
        BadInput: a team, policy or model that cannot be used.
    """
    who = open_team(team if team is not None else settings.team)
    base = merged_policy(policy_of(settings), who.policy)
    return Services(
        team=who,
        models=_models(settings, model),
        policy=policy if isinstance(policy, Policy) else merged_policy(base, policy),
        clock=clock or SystemClock(),
        servers=PROCESS if clock is None else Servers(),
        notifier=notifier or _notifier(settings),
        artifacts=artifacts or artifacts_of(settings, settings.db),
        seals=seals_of(settings),
        observer=_observer(settings),
        fetches_inside=settings.fetch_inside,
        search=_search(settings),
        max_source_bytes=int(settings.max_source_mb * 1024 * 1024),
        keep_history=settings.keep_history,
    )


def policy_of(settings: Settings) -> Policy:
    """What holds where nothing else is said."""
    if settings.policy is None:
        return Policy()
    return merged_policy(Policy(), read_policy(settings.policy, "BATON_POLICY"))


def _search(settings: Settings) -> SearchService | None:
    if not settings.search:
        return None
    kind, _, address = settings.search.partition("=")
    if kind not in get_args(Kind) or (kind == "searxng" and not address):
        known = "searxng=ADDRESS, tavily or brave"
        raise SettingsInvalid(f"BATON_SEARCH: {kind[:40]!r} is no search service that Baton knows; give {known}")
    key = settings.search_key.get_secret_value() if settings.search_key else ""
    return SearchService(cast(Kind, kind), address, key)


@cache
def _telemetry() -> Observer:
    """One for the process: it has a connection and threads of its own."""
    made: Observer = import_module("graph.telemetry").Telemetry()  # an extra, and slow to load
    return made


def _observer(settings: Settings) -> Observer:
    return _telemetry() if settings.telemetry == "otlp" else NoObserver()


def _notifier(settings: Settings) -> Notifier:
    if not settings.notify and not settings.notify_next:
        return Nobody()
    first, after = ([url.get_secret_value() for url in urls] for urls in (settings.notify, settings.notify_next))
    return AppriseNotifier(first, after)


def _models(settings: Settings, model: ModelLike) -> Models:
    name = model if isinstance(model, str) else settings.model
    models = make_models(
        api_key=settings.openai_api_key,
        base_url=settings.openai_base_url,
        model=name,
        timeout_s=settings.model_timeout_s,
    )
    if isinstance(model, BaseChatModel):
        return Models(model, models.for_agent)
    if isinstance(model, str) and model != "offline" and models.is_offline:
        raise BadInput(f"model {model!r} needs a server: set OPENAI_API_KEY or OPENAI_BASE_URL, or use `offline`")
    return models

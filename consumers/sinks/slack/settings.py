"""Settings of the sink ``slack``."""

import re
from typing import Literal, Self
from urllib.parse import quote

from pydantic import Field, field_validator, model_validator

from consumers.sinks.secret import Secret, Text
from consumers.sinks.settings import SinkSettings
from consumers.sinks.web.settings import HttpUrl, WebSettings, http_url
from kamaji_events.duration import Duration
from kamaji_events.event import Event

__all__ = ["GroupSettings", "LinkSettings", "SlackSettings"]

_MENTION = re.compile(r"<(?:!here|!channel|@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+)>")
_PLACES = ("cluster", "namespace", "name", "id")


class LinkSettings(SinkSettings):
    """A link under every message."""

    text: str = Field(min_length=1, max_length=75)
    """What is shown."""
    url: str
    """Where it leads; ``{cluster}``, ``{namespace}``, ``{name}`` and ``{id}`` are filled in."""

    @field_validator("url")
    @classmethod
    def _fits(cls, url: str) -> str:
        try:
            http_url(url.format(**dict.fromkeys(_PLACES, "x")))
        except (KeyError, IndexError, AttributeError):
            raise ValueError(f"only {', '.join(f'{{{name}}}' for name in _PLACES)} can be filled in") from None
        if any(letter in url for letter in "<>|"):
            raise ValueError("must not have <, > or | in it")
        return url

    def filled(self, event: Event) -> str:
        """The link for an event."""
        facts = {"cluster": event.cluster, "namespace": event.namespace, "name": event.object_name, "id": event.id}
        return self.url.format(**{name: quote(value or "-", safe="") for name, value in facts.items()})


class GroupSettings(SinkSettings):
    """Floods: many objects with the same news become one message that is kept up to date."""

    after: int = Field(default=3, ge=1)
    """So many objects get a message each; those that follow share one."""
    window: Duration = 600.0
    """Seconds of silence after which the next one starts afresh."""


class SlackSettings(WebSettings):
    """What stands under ``slack:``: either an incoming webhook, or a bot's token and a channel.

    Only a bot can answer in threads and update what it said; through an incoming webhook each event is a message.
    """

    webhook_url: HttpUrl | None = None
    """An incoming webhook. The URL is the secret: give it by fromFile or fromEnv."""
    token: Secret | None = None
    """A bot's token (``xoxb-``) with the scope ``chat:write``."""
    channel: str | None = Field(default=None, pattern=r"^[A-Z0-9]{6,}$")
    """The channel's id (``C0123456789``), not its name: updates need the id."""
    api_url: HttpUrl = Text(plain="https://slack.com/api")
    """The Web API; GovSlack has another."""
    group: GroupSettings | None = GroupSettings()
    """None gives every object a message of its own."""
    interval: Duration = 1.2
    """Least seconds between two calls: Slack takes a message a second and channel, and 50 updates a minute."""
    links: tuple[LinkSettings, ...] = Field(default=(), max_length=5)
    """Links under every message."""
    mention: dict[Literal["info", "notice", "warning", "critical"], str] = Field(default_factory=dict)
    """Whom to mention at a severity, in Slack's form, e.g. ``{critical: "<!here>"}``."""

    @field_validator("webhook_url")
    @classmethod
    def _secret(cls, given: Text | None) -> Text | None:
        if given is not None and given.plain is not None:
            raise ValueError("who has this URL can post: write {fromFile: ...} or {fromEnv: ...}")
        return given

    @field_validator("mention")
    @classmethod
    def _forms(cls, mention: dict[str, str]) -> dict[str, str]:
        for text in mention.values():
            if not _MENTION.fullmatch(text):
                raise ValueError("write <!here>, <!channel>, <@U...> or <!subteam^S...>")
        return mention

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.webhook_url is None) == (self.token is None):
            raise ValueError("needs exactly one of webhookUrl and token")
        if (self.token is None) != (self.channel is None):
            raise ValueError("token and channel belong together")
        return self

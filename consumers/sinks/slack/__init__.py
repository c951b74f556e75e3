"""The Slack sink: incoming webhooks and bots, threads, floods in one message."""

from consumers.sinks.slack.sink import SlackSink

__all__ = ["SlackSink"]

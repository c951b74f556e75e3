"""The webhook sink: CloudEvents over HTTP, signed as Standard Webhooks say."""

from consumers.sinks.webhook.sink import WebhookSink

__all__ = ["WebhookSink"]

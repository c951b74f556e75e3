"""RabbitMQ, as this project uses it: a connection that tells when it is lost, topology as data, confirms, consumers.

Everything that both services, the client and the command line need of the broker is here; nothing here knows what
a TenantControlPlane is. ``aiormq`` (what aio-pika stands on) keeps the connection: handshake, TLS, heartbeats.
"""

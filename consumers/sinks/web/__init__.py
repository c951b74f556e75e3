"""One HTTP client for every sink that speaks HTTP: egress guard, TLS, proxy, timeouts, capped replies, no retries."""

"""The address of an LLM's server, in its parts."""

from subcog_hooks.core.errors import ConfigError


class Address:
    """The address of an LLM's server. host: without brackets; path: "" or with a leading slash."""

    __slots__ = ("host", "is_secure", "path", "port")

    def __init__(self, url: str) -> None:
        """Read an address without urllib.parse, which costs 5 ms. Raises ConfigError for an unusable one."""
        scheme, _, behind_scheme = url.partition("://")
        scheme = scheme.lower()
        authority, slash, path = behind_scheme.partition("/")
        host, _, port = authority.rpartition("]")[2].partition(":")
        if authority.startswith("["):
            host = authority[1:].partition("]")[0]
        if "@" in url:
            raise ConfigError("llm.base_url has a user or a password in it", "expected an address alone")
        is_plain = url.isascii() and url.isprintable() and not set(url) & set(' "?#\\<>')
        if not is_plain or scheme not in ("http", "https") or not host or not (port.isdigit() or not port):
            raise ConfigError("llm.base_url is no address", "expected one such as http://localhost:11434/v1")
        self.is_secure = scheme == "https"
        self.host = host
        self.port = int(port[:6]) if port else 443 if self.is_secure else 80
        self.path = (slash + path).rstrip("/")

    @property
    def is_here(self) -> bool:
        """True where the host is this machine, so that requests do not travel."""
        parts = self.host.split(".")
        is_ipv4 = len(parts) == 4 and all(part.isdigit() for part in parts)
        return self.host.lower() in ("localhost", "::1") or (is_ipv4 and parts[0] == "127")

"""A question to an LLM, the shape and the reading of its answer, and the address to ask. No network here."""

from __future__ import annotations

from subcog_hooks.core import light_json
from subcog_hooks.core.errors import ConfigError
from subcog_hooks.core.records import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SHORT_ANSWER = 200  # tokens: a type, a confidence and five topics in JSON
MAX_ANSWER = 64_000  # characters of an answer; 3,000 tokens are 15,000, and more with escaped letters


def object_schema(properties: Mapping[str, object]) -> Mapping[str, object]:
    """Return the JSON Schema of an object that has exactly these properties."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def list_schema(items: object) -> Mapping[str, object]:
    """Return the JSON Schema of a list."""
    return {"type": "array", "items": items}


TEXT, INTEGER = {"type": "string"}, {"type": "integer"}
TEXTS = list_schema(TEXT)
NUMBERS = object_schema({"numbers": list_schema(INTEGER)})


@record
class Question:
    """One question to an LLM.

    system: its instructions; user: the text of the question, which has to be free of secrets: it leaves the machine. name: of
    the answer, one word; purpose: of the answer, a sentence; schema: the answer's JSON Schema, in the part that all providers
    support; longest: the tokens that the answer may have.
    """

    system: str
    user: str
    name: str
    purpose: str
    schema: Mapping[str, object]
    longest: int = SHORT_ANSWER


def find_object(text: str) -> dict[str, object]:
    """Return the JSON object in an answer, {} without one. Fences, prose and reasoning around its braces are ignored."""
    answer = text.rpartition("</think>")[2][:MAX_ANSWER]
    try:
        value = light_json.loads(answer[answer.find("{") : answer.rfind("}") + 1])
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def find_list(text: str, name: str) -> list[object] | None:
    """Return the list with this name in an answer, None without one.

    >>> find_list('Here: ```{"memories": []}```', "memories"), find_list('{"memories": 3}', "memories")
    ([], None)
    """
    value = find_object(text).get(name)
    return value if isinstance(value, list) else None


def read_numbers(text: str, count: int) -> list[int] | None:
    """Return the numbers in an answer, from 1 to `count`; None for an answer of another form.

    >>> read_numbers('{"numbers": [3, 1, 3, 99, 0, true, "2"]}', 5), read_numbers('{"numbers": []}', 5), read_numbers("[1]", 5)
    ([3, 1], [], None)
    """
    numbers = find_list(text, "numbers")
    if numbers is None:
        return None
    valid = [number for number in numbers if isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= count]
    return list(dict.fromkeys(valid))


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

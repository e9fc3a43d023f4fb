"""Forms of settings that name servers of the Model Context Protocol. Ours is added and removed, and every other byte stays."""

import json
import re
from collections.abc import Mapping

from subcog_hooks.cli.claude_code import hook_entries
from subcog_hooks.clients.description import Client
from subcog_hooks.core.errors import UsageError

SERVER_NAME = "subcog"
_COMMAND = re.compile(r"""\bcmd["']?:[ \t]*["']?([^"'\n,]*\bsubcog(?:\.exe)?)["']?[ \t]*(?:,|$)""", re.MULTILINE)

Commands = Mapping[str, list[list[str]]]  # of our hook by event, each as words
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)  # in YAML


class ServerForm:
    """An object of servers of the Model Context Protocol, in a file with other settings. Ours is a member of it."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        key, server = client.settings.key, {"command": command[0], "args": [*command[1:], "mcp"]}
        if text is None:
            return hook_entries.dump_json({key: {SERVER_NAME: server}})
        is_ours, present = bool(self.read_commands(text, client)), self._find_server(text, client)
        if present is not None:
            if not isinstance(present.value, dict) or not is_ours:
                raise ValueError(f"{key}.{SERVER_NAME} is another server")
            changed = {**present.value, **server}
            whole = text[: present.value_start] + hook_entries.dump_json(changed) + text[present.end :]
            return text if changed == present.value else whole
        root = hook_entries.start_of(text)
        servers = hook_entries.find_member(text, root, key)
        if servers is None:
            return hook_entries.insert(text, root, f'"{key}": {hook_entries.dump_json({SERVER_NAME: server})}')
        if not isinstance(servers.value, dict):
            raise ValueError(f"{key} is not an object")
        return hook_entries.insert(text, servers.value_start, f'"{SERVER_NAME}": {hook_entries.dump_json(server)}')

    def remove_hook(self, text: str, client: Client) -> str | None:
        is_ours, root = bool(self.read_commands(text, client)), hook_entries.start_of(text)
        servers, server = hook_entries.find_member(text, root, client.settings.key), self._find_server(text, client)
        if servers is None or server is None or not is_ours:
            return text
        is_alone = len(hook_entries.parse_members(text, servers.value_start)) == 1
        if not is_alone or not hook_entries.is_made_by_init(text, servers.value_start):
            return hook_entries.remove(text, servers.value_start, server)
        after, is_of_init = hook_entries.remove(text, root, servers), hook_entries.is_file_of_init(text, client.settings.key)
        return after if hook_entries.parse_members(after, root) or not is_of_init else None

    def read_commands(self, text: str, client: Client) -> Commands:
        hook_entries.check_comments(text, has_comments=client.settings.has_comments)
        server = self._find_server(text, client)
        value = server.value if server is not None else None
        words = hook_entries.words_of(value) if isinstance(value, dict) and "command" in value else []
        return {SERVER_NAME: [words]} if words[-1:] == ["mcp"] and "subcog" in " ".join(words) else {}

    def _find_server(self, text: str, client: Client) -> hook_entries.Member | None:
        servers = hook_entries.find_member(text, hook_entries.start_of(text), client.settings.key)
        is_object = servers is not None and isinstance(servers.value, dict)
        return hook_entries.find_member(text, servers.value_start, SERVER_NAME) if servers and is_object else None


class YamlForm:
    """YAML, which a person edits: nothing here could keep the rest of the file as it is."""

    def add_hook(self, text: str | None, client: Client, command: list[str]) -> str:
        if text is not None and self.read_commands(text, client):
            return text
        program, *arguments = [*command, "mcp"]
        fields = {"name": SERVER_NAME, "type": "stdio", "cmd": program, "args": arguments, "enabled": True, "timeout": 300}
        line = f"{SERVER_NAME}: {json.dumps(fields, ensure_ascii=False)}"
        raise UsageError(
            f"{client.settings.path} is YAML, which subcog leaves to you",
            f"add to it, below `{client.settings.key}:` and indented, `{line}`",
        )

    def remove_hook(self, text: str, client: Client) -> str | None:
        if self.read_commands(text, client):
            raise UsageError(
                f"{client.settings.path} is YAML, which subcog leaves to you",
                f"delete `{SERVER_NAME}:` below `{client.settings.key}:`",
            )
        return text

    def read_commands(self, text: str, client: Client) -> Commands:
        match = _COMMAND.search(_COMMENT.sub("", text)) if client.settings.key in text else None
        return {SERVER_NAME: [[match[1], "mcp"]]} if match else {}

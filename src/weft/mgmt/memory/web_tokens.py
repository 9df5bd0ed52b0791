"""Who may change something through the web app, in the memory twin."""

from __future__ import annotations

from msgspec.structs import replace

from weft.mgmt.memory.state import MemoryCalls
from weft.mgmt.rules.web_tokens import is_known
from weft.mgmt.values import WebToken


class MemoryWebTokens(MemoryCalls):
    def web_tokens(self) -> dict[str, WebToken]:
        tokens = self._state.web_tokens
        return dict(sorted(tokens.items(), key=lambda item: (item[1].created, item[1].id)))

    def add_web_token(self, token: WebToken, digest: str) -> bool:
        answer = is_known(self._state.web_tokens, token, digest)
        if answer is None:
            self._state.web_tokens[digest] = replace(token, used=0)
        return answer is not False

    def use_web_token(self, token: str, used: int) -> None:
        for digest, known in self._state.web_tokens.items():
            if known.id == token and known.used < used:
                self._state.web_tokens[digest] = replace(known, used=used)

    def revoke_web_token(self, token: str) -> bool:
        found = [digest for digest, known in self._state.web_tokens.items() if known.id == token]
        for digest in found:
            del self._state.web_tokens[digest]
        return bool(found)

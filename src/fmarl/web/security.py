"""Who may ask, and for what: everything is refused that the page itself would not do.

A page that listens on this machine can be reached by every site that its user visits. So: only
GET; only under our own address (a foreign name that points here is refused); no reading by other
sites; and where others can connect at all, only with the token.
"""

import hmac
from collections.abc import Sequence
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "fmarl_token"
LONGEST_QUERY = 1024
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""On every answer, refusals too."""


class SecurityMiddleware:
    """Refuses a request, or lets it through and adds the security headers to its answer."""

    def __init__(self, app: ASGIApp, addresses: Sequence[str], token: str = "") -> None:
        self._app, self._token = app, token
        self._addresses = frozenset(addresses)
        """Values of Host that are ours. With a token any name is: it knows who may ask."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def seal(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await (self._refusal(scope) or self._app)(scope, receive, seal)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts, origin = headers.getlist("host"), headers.get("origin")
        if scope["method"] != "GET":
            return _refused(405, "only GET is answered here", allow="GET")
        if len(hosts) != 1 or (not self._token and hosts[0] not in self._addresses):
            return _refused(400, f"this page is at {' or '.join(sorted(self._addresses))}")
        if origin is not None and origin != f"http://{hosts[0]}":
            return _refused(403, "other sites may not read this page")
        if len(scope["query_string"]) > LONGEST_QUERY:
            return _refused(414, f"a query of more than {LONGEST_QUERY} bytes")
        return self._ask_for_token(scope, headers) if self._token else None

    def _ask_for_token(self, scope: Scope, headers: Headers) -> Response | None:
        """The address printed at the start carries the token; from then on a cookie does."""
        if self._is_token(_cookie(headers.get("cookie", ""))):
            return None
        [given, *_] = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])
        if not self._is_token(given):
            return _refused(403, "open the address with its token, as fmarl watch printed it")
        answer = RedirectResponse(scope["path"], status_code=303)
        answer.set_cookie(COOKIE, self._token, httponly=True, samesite="strict")
        return answer

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())


def _refused(status: int, why: str, **headers: str) -> Response:
    return PlainTextResponse(f"{why}\n", status_code=status, headers=headers)


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""

"""The documentation pages of `AgentAPI`, its logo and its icon."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from fastapi import FastAPI, Request
from fastapi.openapi.docs import (
    get_redoc_html,
    get_swagger_ui_html,
    get_swagger_ui_oauth2_redirect_html,
)
from starlette.responses import HTMLResponse, Response

from notebook_agents.server.pages import with_fallback

__all__ = ["Pages"]

LOGO_PATH = "/agentapi-logo.svg"
FAVICON_PATH = "/agentapi-favicon.svg"
_MARK = (
    '<rect width="32" height="32" rx="7" fill="#1f6feb"/>'
    '<path d="M7 10h18v11H15l-5 4v-4H7z" fill="#fff"/>'
    '<circle cx="12.5" cy="15.5" r="1.8" fill="#1f6feb"/>'
    '<circle cx="19.5" cy="15.5" r="1.8" fill="#1f6feb"/>'
)
_WORD = (
    '<text x="40" y="23" font-family="system-ui, sans-serif" font-size="20" '
    'font-weight="600" fill="#1f2328">AgentAPI</text>'
)
_OPEN = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 32">'
FAVICON = _OPEN.format(width=32) + _MARK + "</svg>"
LOGO = _OPEN.format(width=136) + _MARK + _WORD + "</svg>"


class Pages:
    """The pages of one application, at the paths that it was given.

    Parameters
    ----------
    app : FastAPI
        Whose pages they are.
    docs_url, redoc_url, redirect_url : str or None
        Where they are; None leaves one out.
    """

    def __init__(
        self,
        app: FastAPI,
        docs_url: str | None,
        redoc_url: str | None,
        redirect_url: str | None,
    ) -> None:
        self._app = app
        self._redirect_url = redirect_url
        routes: dict[str, Callable[[Request], Awaitable[Response]]] = {
            LOGO_PATH: self._logo,
            FAVICON_PATH: self._favicon,
        }
        if app.openapi_url and docs_url:
            routes[docs_url] = self._swagger_ui
            if redirect_url:
                routes[redirect_url] = self._redirect
        if app.openapi_url and redoc_url:
            routes[redoc_url] = self._redoc
        for path, page in routes.items():
            app.add_route(path, page, include_in_schema=False)

    @property
    def logo(self) -> dict[str, str]:
        """What the description of the application says about the logo."""
        url = self._app.root_path.rstrip("/") + LOGO_PATH
        return {"url": url, "altText": "AgentAPI"}

    async def _swagger_ui(self, request: Request) -> Response:
        app, root = self._app, _root(request)
        redirect = self._redirect_url
        page = get_swagger_ui_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=f"{app.title} - Docs",
            swagger_favicon_url=root + FAVICON_PATH,
            oauth2_redirect_url=root + redirect if redirect else None,
            init_oauth=app.swagger_ui_init_oauth,
            swagger_ui_parameters=app.swagger_ui_parameters,
        )
        return with_fallback(page, f"{root}{app.openapi_url}")

    async def _redoc(self, request: Request) -> Response:
        app, root = self._app, _root(request)
        page = get_redoc_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=f"{app.title} - ReDoc",
            redoc_favicon_url=root + FAVICON_PATH,
        )
        return with_fallback(page, f"{root}{app.openapi_url}")

    async def _redirect(self, _request: Request) -> HTMLResponse:
        return get_swagger_ui_oauth2_redirect_html()

    async def _logo(self, _request: Request) -> Response:
        return Response(LOGO, media_type="image/svg+xml")

    async def _favicon(self, _request: Request) -> Response:
        return Response(FAVICON, media_type="image/svg+xml")


def _root(request: Request) -> str:
    root: str = request.scope.get("root_path", "")
    return root.rstrip("/")

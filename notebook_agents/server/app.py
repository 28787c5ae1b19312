"""The web application: its layers and its routes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import RedirectResponse
from fastapi.security import HTTPBearer
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from notebook_agents._version import __version__
from notebook_agents.server.approvals import approval_routes
from notebook_agents.server.chat import chat_routes, run_routes
from notebook_agents.server.config import CORSConfig
from notebook_agents.server.failures import CatchFailures, add_failure_handlers
from notebook_agents.server.pages import page_routes
from notebook_agents.server.schemas import ErrorResponse, HealthResponse, InfoResponse
from notebook_agents.server.security import BearerAuth, BodyLimit, HostAndOrigin
from notebook_agents.server.service import Service

__all__ = ["build_app"]

OPENAPI = "/openapi.json"
_HIDDEN = frozenset({"root", "health_head"})
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorResponse} for status in (401, 403, 413, 415, 421, 422)
}
"""What every guarded route may answer."""


def build_app(service: Service) -> FastAPI:
    """Make the application that serves an agent.

    Parameters
    ----------
    service : Service
        What is served.

    Returns
    -------
    FastAPI
        Not started.
    """
    config, agent = service.config, service.agent
    has_pages = config.docs_url is not None or config.redoc_url is not None
    app = FastAPI(
        title=config.title,
        description=config.description or f"HTTP API for the **{agent.name}** agent.",
        version=config.api_version,
        docs_url=None,  # made by `page_routes`
        redoc_url=None,
        openapi_url=OPENAPI if has_pages else None,
        # A redirect would lose the body, or lead out of a proxy's prefix.
        redirect_slashes=False,
        middleware=_layers(service),
    )
    add_failure_handlers(app)
    routers = [chat_routes(service), run_routes(service), approval_routes(service)]
    # The scheme only shows in the documentation; `BearerAuth` is what guards.
    scheme = [Depends(HTTPBearer(auto_error=False))] if config.has_auth else []
    for router in routers:
        app.include_router(router, dependencies=scheme, responses=REFUSALS)
    pages = page_routes(config, OPENAPI)
    app.include_router(pages)
    paths = _paths_of(*routers, pages, app.router)
    app.include_router(_utility_routes(service, paths))
    return app


def _layers(service: Service) -> list[Middleware]:
    """List what a request passes on its way in, outermost first."""
    config = service.config
    open_paths = [
        path
        for path in (
            "/",
            config.health_endpoint,
            config.info_endpoint,
            config.docs_url,
            config.redoc_url,
            OPENAPI,
        )
        if path
    ]
    cors = [_cors(config.cors)] if config.cors else []
    return [
        Middleware(HostAndOrigin, config=config),
        *cors,
        Middleware(BearerAuth, credentials=service.credentials, open_paths=open_paths),
        Middleware(BodyLimit, most=config.max_body_size),
        Middleware(CatchFailures),
    ]


def _cors(config: CORSConfig) -> Middleware:
    return Middleware(
        CORSMiddleware,
        allow_origins=config.origins,
        allow_credentials=config.allow_credentials,
        allow_methods=config.allow_methods,
        allow_headers=config.allow_headers,
        expose_headers=config.expose_headers,
        max_age=config.max_age,
        # Into a private network only for pages that are named.
        allow_private_network="*" not in config.origins,
    )


def _utility_routes(service: Service, paths: dict[str, str]) -> APIRouter:
    router = APIRouter(tags=["utility"])
    config = service.config

    @router.get(config.health_endpoint, name="health")
    async def health() -> HealthResponse:
        """Tell that the server is up."""
        uptime = round(service.uptime, 3)
        return HealthResponse(agent_name=service.agent.name, uptime_s=uptime)

    router.add_api_route(
        config.health_endpoint,
        health,
        methods=["HEAD"],
        name="health_head",
        include_in_schema=False,
    )

    @router.get(config.info_endpoint, name="info")
    async def info(request: Request) -> InfoResponse:
        """Tell what is served, and where."""
        agent, url = service.agent, request.url
        # Not base_url: in an app that is mounted in another, that is the other's.
        base = f"{url.scheme}://{url.netloc}{request.scope.get('root_path', '')}"
        return InfoResponse(
            agent_name=agent.name,
            agent_id=agent.agent_id,
            version=__version__,
            api_version=config.api_version,
            has_tools=bool(agent.tools),
            has_memory=True,
            endpoints={name: base + path for name, path in paths.items()},
        )

    @router.get("/", include_in_schema=False)
    async def root(request: Request) -> RedirectResponse:
        """Lead to the documentation, or to what is served."""
        prefix = request.scope.get("root_path", "")
        return RedirectResponse(f"{prefix}{config.docs_url or config.info_endpoint}")

    paths |= _paths_of(router)
    return router


def _paths_of(*routers: APIRouter) -> dict[str, str]:
    """Find what there is to call, by name."""
    return {
        route.name: route.path
        for router in routers
        for route in router.routes
        if isinstance(route, Route) and route.name not in _HIDDEN
    }

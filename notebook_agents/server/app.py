"""The web application: its layers and its routes."""

from __future__ import annotations

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
from notebook_agents.server.schemas import HealthResponse, InfoResponse
from notebook_agents.server.security import BearerAuth, BodyLimit, HostAndOrigin
from notebook_agents.server.service import Service

__all__ = ["build_app"]

OPENAPI = "/openapi.json"
_PAGES = {"openapi": "openapi", "swagger_ui_html": "docs", "redoc_html": "redoc"}
_HIDDEN = frozenset({"root", "swagger_ui_redirect"})


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
        docs_url=config.docs_url,
        redoc_url=config.redoc_url,
        openapi_url=OPENAPI if has_pages else None,
        middleware=_layers(service),
    )
    add_failure_handlers(app)
    routers = [chat_routes(service), run_routes(service), approval_routes(service)]
    # The scheme only shows in the documentation; `BearerAuth` is what guards.
    scheme = [Depends(HTTPBearer(auto_error=False))] if config.has_auth else []
    for router in routers:
        app.include_router(router, dependencies=scheme)
    paths = _paths_of(*routers, app.router)
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
            config.docs_url and f"{config.docs_url}/oauth2-redirect",
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
    )


def _utility_routes(service: Service, paths: dict[str, str]) -> APIRouter:
    router = APIRouter(tags=["utility"])
    config = service.config

    @router.get(config.health_endpoint, name="health")
    async def health() -> HealthResponse:
        """Tell that the server is up."""
        uptime = round(service.uptime, 3)
        return HealthResponse(agent_name=service.agent.name, uptime_s=uptime)

    @router.get(config.info_endpoint, name="info")
    async def info(request: Request) -> InfoResponse:
        """Tell what is served, and where."""
        agent, base = service.agent, str(request.base_url).rstrip("/")
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
        _PAGES.get(route.name, route.name): route.path
        for router in routers
        for route in router.routes
        if isinstance(route, Route) and route.name not in _HIDDEN
    }

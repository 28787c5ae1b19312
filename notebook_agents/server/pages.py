"""The documentation pages, which also tell something without a network.

Their scripts come from a content delivery network. Where that cannot be
reached, the page says so and lists what there is to call.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.responses import HTMLResponse

from notebook_agents.server.config import ServerConfig

__all__ = ["page_routes", "with_fallback"]

_OFFLINE = """
<script>
if (!window.SwaggerUIBundle && !window.Redoc) {
  const make = (name, text) => {
    const made = document.body.appendChild(document.createElement(name));
    made.textContent = text;
    return made;
  };
  document.body.style.font = "15px/1.5 system-ui, sans-serif";
  document.body.style.margin = "2em";
  make("p", "The interactive page needs scripts from cdn.jsdelivr.net, which " +
    "cannot be reached from here. This is what the server offers; the whole " +
    "description is at ").appendChild(
      Object.assign(document.createElement("a"), {href: "OPENAPI", textContent: "OPENAPI"}));
  fetch("OPENAPI").then(answer => answer.json()).then(api => {
    for (const [path, methods] of Object.entries(api.paths))
      for (const [method, about] of Object.entries(methods))
        make("pre", method.toUpperCase() + " " + path + "\\n    " + (about.description || ""));
  });
}
</script>
"""


def page_routes(config: ServerConfig, openapi: str) -> APIRouter:
    """Make the routes of the pages that are switched on.

    Parameters
    ----------
    config : ServerConfig
        Where they are.
    openapi : str
        Path of the description that they show.

    Returns
    -------
    APIRouter
        ``GET`` of each page.
    """
    router = APIRouter(include_in_schema=False)
    makers = {
        "docs": (config.docs_url, get_swagger_ui_html),
        "redoc": (config.redoc_url, get_redoc_html),
    }
    for name, (path, make) in makers.items():
        if path is None:
            continue

        async def page(request: Request, make: object = make) -> HTMLResponse:
            url = request.scope.get("root_path", "").rstrip("/") + openapi
            made = make(openapi_url=url, title=config.title)  # type: ignore[operator]
            return with_fallback(made, url)

        router.add_api_route(path, page, name=name, response_model=None)
    return router


def with_fallback(page: HTMLResponse, url: str) -> HTMLResponse:
    """Let a page say something where its scripts cannot be had.

    Parameters
    ----------
    page : HTMLResponse
        A documentation page.
    url : str
        Where the description is.

    Returns
    -------
    HTMLResponse
        The page with the fallback.
    """
    body = bytes(page.body).decode()
    return HTMLResponse(
        body.replace("</body>", _OFFLINE.replace("OPENAPI", url) + "</body>")
    )

"""The page as a web application: five kinds of address, each a few lines."""

import asyncio
import struct
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.resources import files
from pathlib import Path

import anyio.to_thread
import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from fmarl.errors import BadInput
from fmarl.records.frames import read_counts
from fmarl.web.event_stream import EventStream
from fmarl.web.run_facts import about_run
from fmarl.web.run_registry import RunRegistry
from fmarl.web.security import SecurityMiddleware
from fmarl.web.tail import RunTail

STATIC = Path(str(files("fmarl.web") / "static"))
SHARED = {"css/tokens.css": Path(str(files("fmarl.report") / "tokens.css"))}
"""What the page shares with reports, by its name on the page."""
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
FRESH = {"cache-control": "no-cache"}


def make_app(places: Sequence[Path], addresses: Sequence[str], token: str = "") -> Starlette:
    """The page on the runs in these places, under these addresses."""

    @asynccontextmanager
    async def following(app: Starlette) -> AsyncIterator[None]:
        app.state.stream = EventStream(RunRegistry(places))
        task = asyncio.create_task(app.state.stream.follow())
        yield
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    routes = [
        Route("/", _page),
        Route("/static/{name:path}", _static),
        Route("/stream", _stream),
        Route("/runs/{run}/about", _about),
        Route("/runs/{run}/frames/{epoch:int}", _frames),
    ]
    security = Middleware(SecurityMiddleware, addresses=addresses, token=token)
    smaller = Middleware(GZipMiddleware)  # all but the stream, which it knows to leave alone
    return Starlette(routes=routes, middleware=[security, smaller], lifespan=following)


async def _page(request: Request) -> Response:
    return FileResponse(STATIC / "index.html", media_type="text/html", headers=FRESH)


async def _static(request: Request) -> Response:
    """A file of the page, by a name that is compared and never joined to a path."""
    own = {path.relative_to(STATIC).as_posix(): path for path in STATIC.rglob("*.*")}
    found = (own | SHARED).get(request.path_params["name"])
    if found is None or found.suffix not in KINDS:
        raise HTTPException(404)
    return FileResponse(found, media_type=KINDS[found.suffix], headers=FRESH)


async def _stream(request: Request) -> Response:
    stream: EventStream = request.app.state.stream
    events = stream.events(request.headers.get("last-event-id", ""))
    return StreamingResponse(events, media_type="text/event-stream", headers=FRESH)


async def _about(request: Request) -> Response:
    run = _run(request)
    try:
        facts = await anyio.to_thread.run_sync(about_run, run.folder, run.name)
    except BadInput as problem:
        raise HTTPException(409, str(problem)) from None
    return JSONResponse(facts, headers=FRESH)


async def _frames(request: Request) -> Response:
    """Frames of one test epoch, in the numbers that the file holds."""
    folder = _run(request).folder
    path = folder.frames / f"{request.path_params['epoch']:06}.npz"
    if not path.resolve().is_relative_to(folder.path.resolve()):
        raise HTTPException(404)  # a link that leads out of the run
    try:
        counts = await anyio.to_thread.run_sync(read_counts, path)
    except BadInput:
        raise HTTPException(404) from None
    head = struct.pack("<ii", *counts.shape[:2])
    content = head + np.ascontiguousarray(counts, dtype="<i2").tobytes()
    return Response(content, media_type="application/octet-stream", headers=FRESH)


def _run(request: Request) -> RunTail:
    """The run of that name, among those watched: a name is looked up and never a path."""
    stream: EventStream = request.app.state.stream
    run = stream.registry.runs.get(request.path_params["run"])
    if run is None:
        raise HTTPException(404)
    return run

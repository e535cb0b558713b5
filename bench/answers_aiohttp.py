"""One answer from aiohttp, as the peer of ours: ``python -m bench.answers_aiohttp PORT FILE``."""

import sys
from pathlib import Path

from aiohttp import web


def main(port: int, path: Path) -> None:
    answer = path.read_bytes()

    async def get(request: web.Request) -> web.Response:
        return web.Response(body=answer, content_type="text/plain", charset="utf-8")

    async def post(request: web.Request) -> web.Response:
        await request.read()  # and does not even look at it
        return web.Response(body=answer, content_type="text/plain", charset="utf-8")

    application = web.Application()
    application.router.add_get("/proxmox/answer", get)
    application.router.add_post("/proxmox/answer", post)
    web.run_app(application, host="127.0.0.1", port=port, access_log=None, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))

"""A bootstrap script from aiohttp, as the peer of ours: ``python -m bench.http_aiohttp PORT``."""

import sys

from aiohttp import web

SCRIPT = "#!ipxe\n" + "# as long as the script that it stands for\n" * 9


async def bootstrap(request: web.Request) -> web.Response:
    return web.Response(text=SCRIPT, headers={"Cache-Control": "no-store"})


def main(port: int) -> None:
    application = web.Application()
    application.router.add_get("/ipxe/bootstrap", bootstrap)
    web.run_app(application, host="127.0.0.1", port=port, access_log=None, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))

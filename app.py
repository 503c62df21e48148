"""Start the page: read the flags, build it, serve it. Everything else lives in the package `blockviz`."""

from __future__ import annotations

import argparse
import errno
import os
import socket
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from blockviz.base.command_line import Parser, add_release, folder, name_or_path, sentence, shown, whole

if TYPE_CHECKING:
    from blockviz.models.released import Release

CHECKPOINTS = Path(__file__).resolve().parent / "checkpoints"
MAX_PORT = 65535
DEVICES = ("auto", "cuda", "mps", "cpu")


def read_flags(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line; a Space sets host and port through Gradio's environment variables."""
    parser = Parser(
        prog="app.py", description="BlockViz: watch a blockwise discrete-diffusion language model write."
    )
    host = os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1")
    port = os.environ.get("GRADIO_SERVER_PORT", "7860")
    parser.add_argument(
        "--host", type=_host, default=host, help="address to listen on (default: %(default)s)"
    )
    parser.add_argument(
        "--port", type=whole(1, MAX_PORT), default=port, help="port to listen on (default: %(default)s)"
    )
    parser.add_argument(
        "--device",
        choices=DEVICES,
        default="auto",
        help="where the models run; auto takes cuda, then mps, then cpu",
    )
    parser.add_argument(
        "--models",
        type=folder,
        default=CHECKPOINTS,
        metavar="FOLDER",
        help="folder with one folder per checkpoint (default: checkpoints beside this file)",
    )
    parser.add_argument(
        "--model",
        type=name_or_path,
        action="append",
        default=[],
        metavar="MODEL",
        help="one more model to offer: a folder in BlockGen's released format, or hf:OWNER/REPO/SUBFOLDER; may be "
        "given more than once",
    )
    add_release(parser)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Serve the page until it is interrupted; 2 when the port or address cannot be used."""
    flags = read_flags(arguments)
    if refusal := refused_address(flags.host, flags.port):
        sys.stderr.write("app.py: " + sentence(refusal))
        return 2
    # Before Gradio is imported: it reads this once and would otherwise look up hosts on the internet.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from blockviz.evaluation.tasks import PAGE_PROMPTS
    from blockviz.ui.page import build, launch_options
    from blockviz.ui.wording import serving

    try:
        found = _releases(flags) if flags.model else []
    except ValueError as error:  # CheckpointError, whose module brings torch
        sys.stderr.write("app.py: " + sentence(str(error)))
        return 2
    page = build(flags.models, flags.device, PAGE_PROMPTS, found)
    try:
        page.demo.launch(
            server_name=flags.host, server_port=flags.port, prevent_thread_lock=True, **launch_options(page)
        )
    except OSError:  # taken since; Gradio's own words speak of its variables
        refusal = refused_address(flags.host, flags.port) or f"--port {flags.port} cannot be listened on"
        sys.stderr.write("app.py: " + sentence(refusal))
        return 2
    print(serving(f"http://{flags.host}:{flags.port}"), flush=True)
    threading.Thread(target=page.runner.warm_up, name="warm-up", daemon=True).start()
    page.demo.block_thread()
    return 0


def _releases(flags: argparse.Namespace) -> list[Release]:
    """The models named with --model, fetched where they are not here yet; raises CheckpointError."""
    from blockviz.models.released import Told, release

    told = Told(flags.process, flags.tokenizer, flags.block_sizes, flags.block_weights)
    return [release(spec, told) for spec in flags.model]


def refused_address(host: str, port: int) -> str | None:
    """Why nothing can listen there, as one sentence; None when something can."""
    where = (
        f"allowed is an address of this machine with --host and a free port from 1 to {MAX_PORT} with --port"
    )
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as trial:
            if (
                os.name == "posix"
            ):  # a port closed a moment ago is free; on Windows this would share a used one
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return f"--port cannot be {port}: another program listens there on {shown(host)}; {where}"
        return f"--host cannot be {shown(host)} with --port {port}: {error.strerror or error}; {where}"
    except ValueError:  # a name that no address can have
        return f"--host cannot be {shown(host)}; {where}"
    return None


def _host(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise argparse.ArgumentTypeError(f"cannot be {text!r}: allowed is an address of this machine")
    return text


if __name__ == "__main__":
    sys.exit(main())

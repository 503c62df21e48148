"""Start the page: read the flags, build it, serve it. Everything else lives in the package `blockviz`."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from pathlib import Path

CHECKPOINTS = Path(__file__).resolve().parent / "checkpoints"
DEVICES = ("auto", "cuda", "mps", "cpu")


def read_flags(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line; a Space sets host and port through Gradio's environment variables."""
    parser = argparse.ArgumentParser(
        prog="app.py", description="BlockViz: watch a blockwise discrete-diffusion language model write."
    )
    host = os.environ.get("GRADIO_SERVER_NAME", "127.0.0.1")
    port = os.environ.get("GRADIO_SERVER_PORT", "7860")
    parser.add_argument("--host", default=host, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=_port, default=port, help="port to listen on (default: %(default)s)")
    parser.add_argument(
        "--device",
        choices=DEVICES,
        default="auto",
        help="where the models run; auto takes cuda, then mps, then cpu",
    )
    parser.add_argument(
        "--models",
        type=_folder,
        default=CHECKPOINTS,
        metavar="FOLDER",
        help="folder with one folder per checkpoint (default: checkpoints beside this file)",
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Serve the page until it is interrupted; 2 when the port or address cannot be used."""
    flags = read_flags(arguments)
    # Before Gradio is imported: it reads this once and would otherwise look up hosts on the internet.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    from blockviz.evaluation.tasks import EXAMPLE_PROMPTS
    from blockviz.ui.page import build, launch_options
    from blockviz.ui.wording import serving

    page = build(flags.models, flags.device, EXAMPLE_PROMPTS)
    try:
        page.demo.launch(
            server_name=flags.host, server_port=flags.port, prevent_thread_lock=True, **launch_options(page)
        )
    except OSError as error:
        print(f"app.py: cannot listen on {flags.host}:{flags.port}: {error}", file=sys.stderr)
        return 2
    print(serving(f"http://{flags.host}:{flags.port}"), flush=True)
    threading.Thread(target=page.runner.warm_up, name="warm-up", daemon=True).start()
    page.demo.block_thread()
    return 0


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port; allowed is a whole number from 1 to 65535")
    return int(text)


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())

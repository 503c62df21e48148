"""The whole page: header, Explore, Compare and Learn in one Blocks; `launch_options` says how it is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from blockviz.evaluation.tasks import PagePrompt
from blockviz.ui import api, compare, explore, filebar, stepping
from blockviz.ui.controls import Choices, compare_spec, explore_spec
from blockviz.ui.examples import FIRST, FIRST_PAIR, entry_of, header_of, recorded, settings_of_tasks
from blockviz.ui.files import Handoff
from blockviz.ui.learn import tab as learn
from blockviz.ui.player_component import part
from blockviz.ui.runner import Runner
from blockviz.ui.serving import Asset, app_options, assets
from blockviz.ui.wording import LINK, TABS, THEMES, TITLE

if TYPE_CHECKING:
    from blockviz.models.released import Release

# Sessions whose last values Gradio keeps; each holds at most the traces that its players show.
SESSIONS = 64


@dataclass(frozen=True)
class Page:
    """The Blocks of the page with what serves and feeds them."""

    demo: gr.Blocks
    runner: Runner
    files: dict[str, Asset]
    handoff: Handoff


def build(
    folder: Path | str, device: str, prompts: Sequence[PagePrompt], releases: Sequence[Release] = ()
) -> Page:
    """The page for the checkpoints in `folder` and for `releases`; imports no torch and loads no checkpoint."""
    runner = Runner(folder, device, releases)
    files, handoff = assets(learn.run_assets(), learn.glossary_script()), Handoff()
    # The folder's whole path is nobody's business.
    writers = [offer for offer in runner.shelf.offers() if not offer.reads_only]
    choices = Choices(writers, prompts, Path(folder).name, settings_of_tasks())
    single, pair = recorded(FIRST), _pair()
    headers = (header_of(pair[0]), header_of(pair[1]))
    with api.Blocks(title=TITLE, analytics_enabled=False, fill_width=True) as demo:
        part("header", files, title=TITLE, logo=files["logo.svg"].address, tabs=TABS, link=LINK, **THEMES)
        screen, bar = explore.build(runner, files, explore_spec(choices, header_of(single)), single)
        sides = compare.build(runner, files, compare_spec(choices, headers), pair)
        filebar.wire((bar, sides.bar), screen, sides, handoff)
        learn.build(files)
        stepping.wire(stepping.panel(files), sides, runner, handoff)
        api.build(runner)

        def leave(request: gr.Request) -> None:
            runner.signals.stop(request.session_hash or "")

        demo.unload(leave)
    demo.queue(default_concurrency_limit=None, max_size=256, api_open=False)
    return Page(demo, runner, files, handoff)


def _pair() -> tuple[str, str]:
    entry = entry_of(FIRST_PAIR)
    first, second = (recorded(name) for name in entry.runs[:2]) if entry else ("", "")
    return first, second


def launch_options(page: Page) -> dict[str, Any]:
    """Keyword arguments for `demo.launch`: our files and headers, no footer, no fonts or scripts from elsewhere."""
    style = page.files["blockviz.css"].address
    icon = page.files["logo.svg"].address
    return {
        "theme": gr.themes.Base(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        "head": f'<link rel="stylesheet" href="{style}"><link rel="icon" href="{icon}" type="image/svg+xml">',
        "app_kwargs": app_options(page.files, page.handoff, learn.routes()),
        "footer_links": [],
        "run_history": False,
        "enable_monitoring": False,
        "state_session_capacity": SESSIONS,
        "share": False,
        "ssr_mode": False,
        "mcp_server": False,
        "pwa": False,
        "show_error": False,
        "quiet": True,
        "max_file_size": 0,
        "allowed_paths": [],
    }

"""What the browser gets: every view's layout, colours and words, into which JavaScript only puts data."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from blockviz.views import (
    attention,
    comparison,
    comparison_words,
    confidence,
    cost,
    fill,
    life,
    life_chart,
    progress,
    renoising,
    seeds,
    story,
    timeline,
)
from blockviz.views.layout import (
    HEIGHT,
    LEGEND,
    LONGEST_TOKEN,
    MAX_COLUMNS,
    MAX_ROWS,
    PHASE_WORDS,
    PLACE,
    WHEN,
    WHEN_IDLE,
)
from blockviz.views.palette import PALETTES, THEMES

VIEWS: dict[str, ModuleType] = {
    "fill": fill,
    "confidence": confidence,
    "renoising": renoising,
    "attention": attention,
    "timeline": timeline,
}
"""Every view by name; each module has `TITLE`, `HELP`, `WORDS`, `template(theme)` and `figure(trace, k, theme)`."""

SCRIPTS = (
    "views.js",
    "views_download.js",
    "views_sheet.js",
    "views_maps.js",
    "views_decisions.js",
    "views_renoising.js",
    "views_masks.js",
    "views_weights.js",
    "views_attention.js",
    "views_life.js",
    "views_timeline.js",
    "views_progress.js",
    "views_seeds.js",
    "ribbon.js",
)
"""The browser side in `assets/`, in loading order, after Plotly's own script."""
STYLES = ("views.css", "views_timeline.css")


def templates() -> dict[str, dict[str, Any]]:
    """All views as JSON values: name -> {title, help, light, dark, legend, words, ...}; the themes are figures."""
    shared = {
        "phases": PHASE_WORDS,
        "place": PLACE,
        "when": WHEN,
        "when_idle": WHEN_IDLE,
    }
    own: dict[str, dict[str, Any]] = {
        "fill": {"rank": fill.RANK, "rows": MAX_ROWS, "columns": MAX_COLUMNS},
        "confidence": {
            "rows": MAX_ROWS,
            "columns": MAX_COLUMNS,
            "ground": {theme: confidence.prompt_ground(PALETTES[theme], 0) for theme in THEMES},
        },
        "renoising": renoising.constants(),
        "attention": attention.constants(),
        "timeline": timeline.constants(),
    }
    return {
        name: {
            "title": view.TITLE,
            "help": view.HELP,
            **{theme: view.template(theme) for theme in THEMES},
            "legend": {theme: view.legend(theme) for theme in THEMES} if hasattr(view, "legend") else None,
            "boundary": {theme: PALETTES[theme].boundary for theme in THEMES},
            "height": HEIGHT + LEGEND,
            "longest_token": LONGEST_TOKEN,
            "words": view.WORDS | shared,
            **own[name],
        }
        for name, view in VIEWS.items()
    }


def panels() -> dict[str, dict[str, Any]]:
    """What the player itself says: the inspector's chart with its words (`life`), the `story`, and Compare."""
    return {
        "life": {
            "title": life_chart.TITLE,
            "help": life_chart.HELP,
            **{theme: life_chart.template(theme) for theme in THEMES},
            "legend": {theme: life_chart.legend(theme) for theme in THEMES},
            "height": life_chart.HEIGHT + life_chart.LEGEND,
            "words": life.WORDS
            | {"phases": PHASE_WORDS, "place": PLACE, "when": WHEN, "when_idle": WHEN_IDLE},
            "nats": list(life_chart.NATS),
            "longest_token": LONGEST_TOKEN,
            **life.constants(),
        },
        "story": story.constants(),
        "compare": {
            "rows": comparison_words.ROWS,
            "words": comparison_words.WORDS,
            "fields": comparison.field_names(),
            "charts": progress.templates(),
            "seeds": seeds.templates(),
        },
        "cost": {
            "title": "",
            "help": "",
            **{theme: cost.template(theme) for theme in THEMES},
            "legend": None,
            "height": cost.HEIGHT,
            "words": {},
        },
    }

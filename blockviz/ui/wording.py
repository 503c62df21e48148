"""The sentences of the page that belong to no setting (those stand in `blockviz.sampling.settings`)."""

from __future__ import annotations

TITLE = "BlockViz"

TABS: dict[str, str] = {"explore": "Explore", "compare": "Compare", "learn": "Learn"}

FORM: dict[str, str] = {
    "task": "Task",
    "model": "Model",
    "prompt": "Prompt",
    "gaps": "[[12]] is a gap of 12 tokens to fill, [[]] the rest of the canvas, [[40=7]] puts 7 at position 40; "
    "all other text stays. The samplers “Canvas” and “Blockwise” see what stands behind a gap.",
    "preset": "Sampler",
    "attention_mean": "Up to {queries} queries × {keys} keys = {bytes} in each network call.",
    "attention_heads": "Up to {queries} queries × {keys} keys × {heads} heads = {bytes} in each network call.",
    "own_sampler": "A sampler of your own: no preset has these settings.",
    "more": "What it sees, corrector, seams, cache, recording",
    "try": "Try:",
    "die": "Draw another seed",
    "generate": "Generate",
    "go_title": "Ctrl+Enter",
    "stop": "Stop",
    "starting": "Starting …",
    "stopping": "Stopping …",
    "lost": "The run did not finish: the server gave no answer. What had come until then stays; run it again.",
    "quiet": "No news from the run for {seconds} s; the server answers, so it still works on it.",
    "trouble": "No news from the run for {seconds} s, and the server does not answer; trying again.",
    "no_models": "none found",
    "link_value": "The link says {name} = {value}, which this page cannot use; the usual value stands instead.",
}
SILENCE: dict[str, str] = {name: FORM[name] for name in ("quiet", "trouble")}
"""What is said while a run, a study or a measurement says nothing."""


TASKS: dict[str, dict[str, str]] = {
    "math": {
        "label": "Word problems",
        "help": "Sums in words, and their solution: a checker marks every statement.",
    },
    "stories": {
        "label": "Stories",
        "help": "Stories for little children: no checker, read them yourself.",
    },
}


def no_models(folder: str) -> str:
    """What the form says when the model folder holds no checkpoint."""
    return (
        f"There is no checkpoint in {folder!r} yet, so nothing new can be generated; "
        "what plays here is a recorded run. Train a model (make train-math-base, then make train-math-masked) "
        "or start with --models FOLDER."
    )


def loading(name: str) -> str:
    """Shown while a checkpoint is read for the first time."""
    return f"Loading {name} …"


def waiting(ahead: int) -> str:
    """Shown while other people's runs keep the device busy."""
    return f"Waiting for the device: {ahead} {'run is' if ahead == 1 else 'runs are'} ahead of this one."


def sharing(others: int) -> str:
    """Shown while other people's runs go at the same time; "" when none does."""
    if others == 0:
        return ""
    who = "1 other run takes turns" if others == 1 else f"{others} other runs take turns"
    return f"The device is shared: {who} with this one, pass by pass."


def finished(passes: int, calls: int, seconds: float, stopped: bool) -> str:
    """The status line of a run that is over; the start is no pass of it."""
    how = "Stopped after" if stopped else "Done:"
    return f"{how} {passes} passes, {calls} network calls, {seconds:.2f} s."


def too_long(characters: int) -> str:
    """Added to the status line of a run that was stopped because the page would not hold it."""
    megabytes = f"{characters / 1e6:g}"
    return f"It is longer than the {megabytes} MB that the page keeps of a run; take fewer steps or larger blocks."


def too_much_attention(asked: int, limit: int) -> str:
    """Refuses a run whose recorded attention the page could not hold; sizes in bytes."""
    return (
        f"The attention weights of this run may take {asked / 2**20:.1f} MiB, and the page keeps "
        f"{limit / 2**20:.1f} MiB: record the average of the heads, or take a shorter canvas, smaller blocks "
        "or fewer steps."
    )


def failed(reason: str) -> str:
    """The status line of a run that broke for a reason that is nobody's input."""
    return f"The run broke off: {reason}"


UNKNOWN_MODEL = "Choose one of the models in the list."
NO_SUCH_FORM = "The form sent something this page does not know; reload the page."
PROMPT_TOO_LONG = "The prompt has {length} characters; at most {limit} are read."

LINK: dict[str, str] = {
    "copy": "Copy link",
    "copied": "Link copied",
    "failed": "Copy it from the address bar",
    "help": "The address holds this page's state: model, prompt, settings, seed and pass. "
    "Whoever opens it sees the same, but for edits made by stepping in: save such a run.",
    "version": "This link was made by another version of the page.",
    "busy": "A run is being made here; stop it or wait for its end, then open the other one again.",
    "tab": "The link asks for a tab that this page does not have: {name}.",
    "value": "The link says {name} = {value}, which this page cannot use.",
}

FILES: dict[str, str] = {
    "examples": "Examples",
    "examples_help": "Recorded runs that come with the page, each with what it shows",
    "example": "example {number} of {count}",
    "previous": "Previous example",
    "next": "Next example",
    "open": "Open…",
    "open_help": "Open saved runs (.jsonl.gz or .jsonl), or drop them on the page: one run opens in Explore, two to "
    "four in Compare",
    "save": "Save",
    "save_help": "Save what is on screen as one file (.jsonl.gz), which opens here again and in Python",
    "export": "Export…",
    "export_help": "A page, a film, a picture or tables of what is on screen",
    "generated": "A run made here.",
    "opened": "Opened from {file}.",
    "beside": "{count} runs side by side",
    "seed": "seed {seed}",
    "no_run": "There is no finished run on screen yet.",
    "busy": "A run is being written; stop it first, or wait for its end.",
    "drop": "Drop saved runs to open them",
    "reading": "Reading {file} …",
    "too_large": "{file} has {size} MB; at most {most} MB are read.",
    "refused": "{file} was not opened. {reason}",
    "no_answer": "The server did not answer; nothing was changed.",
    "gallery": "Examples",
    "gallery_help": "Recorded runs of the bundled models, as they came from the sampler. A click puts one on screen.",
    "export_title": "Export",
    "make": "Export",
    "cancel": "Cancel",
    "charts": "with its charts (5 MB instead of 0.5)",
    "rate": "Passes a second",
    "preparing": "Preparing …",
    "waiting": "Waiting: {count} before this one.",
    "frames": "{file}: frame {done} of {count}",
    "done": "{file} ({size}) was downloaded.",
    "cancelled": "Cancelled; nothing was saved.",
    "foreign": "This address takes runs from the page only.",
    "option": "The export has no option {name}.",
    "number": "{name} cannot be {value!r}: allowed is a number.",
    "broke": "The export broke off; the run itself can still be saved.",
    "no_example": "There is no example of that name.",
    "gone": "What was opened is no longer there; open it again.",
    "too_many": "These are {count} runs; at most {most} stand side by side.",
}
EXPORT_KINDS: dict[str, dict[str, str]] = {
    "html": {"label": "Page (HTML)", "help": "The player in one file: works offline and from a mail."},
    "gif": {"label": "Film (GIF)", "help": "The canvas pass by pass, 1280 pixels wide; plays anywhere."},
    "mp4": {"label": "Film (MP4)", "help": "The same as H.264 video: smaller, can be paused."},
    "picture": {"label": "Picture (PNG)", "help": "The canvas after the pass on screen."},
    "csv": {"label": "Tables (CSV)", "help": "A row per pass, and a row per pass and position."},
    "parquet": {"label": "Tables (Parquet)", "help": "The same two tables for pandas and others."},
    "json": {"label": "Document (JSON)", "help": "The whole trace as readable JSON."},
}

API: dict[str, str] = {
    "models": "The checkpoints that can be run: name, process, length (positions), task, parameters.",
    "generate": "Run one prompt to its end; returns the trace as newline-delimited JSON.",
    "generate_stream": "Run one prompt and give the lines of its trace as its passes happen.",
    "compare": "Run one prompt on two to four configurations (model, preset, settings), with one seed unless a run "
    "names its own; returns their traces in the same order.",
    "export": "Make files of one to four runs (lines of a trace, or a trace file in base64): kind is html, gif, mp4, "
    "picture, csv, parquet or json; returns each file with name, media type, encoding and data.",
    "no_trace": "trace must be the lines of one run, or its file (.jsonl.gz or .jsonl) in base64.",
    "too_few": "/{name} takes {count} values in the order of its parameters; {given} came. With names instead of an "
    "order, and defaults for what is left out, send them to /gradio_api/call/v2/{name}.",
    "no_runs": "runs must be a list of one to {most} runs.",
    "no_option": "{name} cannot be {value}: it has another type.",
    "no_prompt": "prompt must be a text.",
    "no_run": "Each run must be an object with a model and, where wanted, a preset and settings; the prompt is shared.",
}
COMPARE_COUNT = "runs must be a list of two to {most} configurations."

EXAMPLE_STATUS = "What plays is a recorded example run."


def chosen_among(tried: int, fitting: int, rule: str) -> str:
    """How an example run was chosen, as one sentence."""
    if tried == 1:
        return "Not chosen: the first seed."
    seeds = "1 seed fits" if fitting == 1 else f"{fitting} seeds fit"
    return f"Chosen among {tried} seeds, of which {seeds}: {rule}."


LEARN: dict[str, str] = {
    "chapters": "Chapters",
    "chapter": "Chapter {number} of {count}",
    "outlined": "Outlined:",
    "in_question": "the tokens in question",
    "ask": "Question",
    "show": "Show the answer in the run",
    "hide": "Hide the answer",
    "explore": "Open in Explore",
    "explore_help": "Take the run on screen to Explore, with its settings in the form",
    "place": "Learn, “{title}”",
    "opened": "This run comes from Learn, “{title}”; Generate makes it anew with the settings here.",
    "previous": "Previous",
    "next": "Next",
    "print": "Print all chapters",
    "printing": "Preparing the pages …",
    "loading": "Opening the chapter …",
    "lost": "This chapter could not be fetched. Is the server still running?",
    "again": "Try again",
    "no_run": "The recorded run of this choice is not among the page's files.",
    "glossary": "Glossary",
    "glossary_help": "The words of this page. Wherever one of them is underlined with dots, point at it, tap it or"
    " move the focus to it.",
    "in_chapter": "in “{title}”",
    "sources": "Sources",
    "positions": "position",
    "none_outlined": "none in this pass",
    "told_unchecked": "This run (seed {seed}): {calls} for {tokens}.",
    "told": "This run (seed {seed}): {calls} for {tokens}, {right} of {statements} right.",
    "statement": "statement",
    "call": "network call",
    "token": "token",
}
NO_CHAPTER = "There is no such chapter."
NO_CHAPTER_RUN = "A recorded run of this chapter is missing or cannot be read."

COST: dict[str, str] = {
    "title": "What it costs",
    "help": "Counts the network calls, the queries and the keys they read, and times this sampler against the whole "
    "canvas at once and against left to right, to the end of the canvas, one after the other on this machine.",
    "rivals": "Measure this sampler",
    "grid": "Block sizes and steps",
    "table": "All figures",
    "grid_title": "Time per token for block sizes of 4 to the whole canvas and 1 to 32 steps per block",
    "stop": "Stop",
    "starting": "Starting …",
    "stopping": "Stopping …",
    "progress": "{done} of {total} runs.",
    "done": "Measured.",
    "stopped": "Stopped before every sampler was timed.",
    "lost": "The server gave no answer; what had come until then stays.",
    "bad_kind": "The page asked for a measurement that does not exist; reload it.",
}

THEMES: dict[str, str] = {"light": "Switch to the light theme", "dark": "Switch to the dark theme"}


def serving(address: str) -> str:
    """The line printed when the page is up."""
    return f"BlockViz is running at {address} (Ctrl+C stops it)"

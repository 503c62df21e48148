"""The sentences of stepping in: the panel under Explore's canvas, and what the server answers."""

from __future__ import annotations

WORDS: dict[str, str] = {
    "invite": "Step in",
    "invite_help": "Change this run after the pass on screen and go on from there. The result is a fork: it opens in "
    "Compare, beside the run it comes from.",
    "open": "Edit here",
    "close": "Leave without a change",
    "live": "The run is still going. Stop it, or wait for its end, to step in.",
    "title": "Edit after pass {k} of {last}",
    "after": "{phase}, step {step}, block {block}",
    "after_start": "nothing is written yet",
    "elsewhere": "The canvas shows pass {shown}; the edit comes after pass {k}.",
    "back": "Go to pass {k}",
    "move": "Edit here instead",
    "pick": "Press tokens to choose them, Shift for a stretch. With keys: arrows, and Space.",
    "picked_none": "Nothing chosen",
    "picked": "Chosen: {positions}",
    "block": "The open block",
    "block_help": "Choose every position that may be written now",
    "unpick": "None",
    "unpick_help": "Choose nothing",
    "renoise": "Re-noise",
    "renoise_help": "Turn what is chosen back to noise. Where the block has no step left, its last one is taken again.",
    "renoise_review": "Not in the middle of a step: what goes back to noise is the corrector's choice, in the next "
    "re-noise pass. Step in there, or force and freeze here.",
    "noise_already": "What is chosen holds noise already; to freeze it, force a token there.",
    "freeze": "Freeze",
    "freeze_help": "No later pass writes there",
    "release": "Release",
    "release_help": "Let later passes write there again",
    "clear": "Take back",
    "clear_help": "Take back what is marked at the chosen positions; all of it where none is chosen",
    "force": "Force",
    "force_help": "Put these words there, from the first chosen position on. A block that is not open yet starts from "
    "noise, so what is forced there is frozen.",
    "force_input": "Tokens to put there",
    "keep": "and freeze",
    "keep_help": "Without it, later passes may change what was forced",
    "candidates": "Candidates at position {position}, pass {k}",
    "candidates_ar": "What AR would write at position {position}, pass {k}",
    "candidates_none": "No candidates are recorded at position {position} up to this pass.",
    "settings": "Take over the form's settings",
    "settings_none": "The form has the settings of this run.",
    "settings_from": "From here on: {changes}.",
    "settings_block": "Steps and schedule hold from the next block on.",
    "settings_kept": "A run keeps its {names}.",
    "model_kept": "The fork is of the run's own model, {name}, not of the form's.",
    "change": "{name} {old} → {new}",
    "marked": "Changes",
    "marked_none": "None yet. Without one, the fork is what this run would be.",
    "mark_renoise": "{positions} back to noise",
    "mark_freeze": "{positions} frozen",
    "mark_release": "{positions} released",
    "mark_force": "{position} is {token}",
    "mark_force_kept": "{position} is {token}, frozen",
    "next": "What comes next",
    "next_call": "{what}; that takes a network call, so it shows when the fork runs.",
    "next_free": "{what}; no network call is needed for that.",
    "next_predict": "The block is predicted with what stands there now",
    "next_open": "Block {block} is opened",
    "next_token": "The next token is drawn",
    "next_again": "The last step is taken once more for {count}",
    "next_read": "AR reads the proposal",
    "next_reread": "AR reads the changed proposal again",
    "next_seam": "The text at the seam is opened again and turned back to noise",
    "next_commit": "The block is finished as it stands: {text}",
    "next_renoise": "The corrector turns {positions} back to noise",
    "next_renoise_same": "The corrector turns {positions} back to noise, as in this run",
    "next_renoise_was": "The corrector turns {positions} back to noise; in this run it was {before}",
    "next_unknown": "Whether the corrector keeps {token} cannot be told from the recorded candidates",
    "next_end": "The run is over; nothing more is written",
    "gaps": "Gaps in the prompt",
    "gaps_help": "Write this canvas into the form's prompt, with a gap [[n]] where positions are chosen: generate then "
    "fills them, with the text on both sides fixed",
    "gaps_done": "The prompt has gaps now: choose a sampler that sees both sides (whole canvas), and generate.",
    "resume": "Resume from here",
    "resume_help": "Run the fork; random numbers are those of this run, so that what differs comes from your changes",
    "stop": "Stop",
    "sending": "Sending the run …",
    "unsent": "Stopped before the fork began.",
    "running": "The fork is running …",
    "done": "The fork stands beside this run in Compare. It took {own}, and {again} made again to have pass {k} back.",
    "show": "Show both",
    "go_on": "Go on from the fork here",
    "lost": "The fork did not finish: the server gave no answer.",
}

NO_RUN = "The run did not arrive; try again."
NO_MODEL = "The model of this run, {name}, is not here, so it cannot go on."
NOT_ONE = "Step into one run at a time."
API_FORK = (
    "Step into a recorded run: `trace` is its lines (or they, gzipped, in base64), `edit` an object {at, renoise, "
    "force, freeze, release, settings} as in a trace file: positions from 0, force pairs of position and id or text; "
    "returns the fork's trace as newline-delimited JSON."
)
API_EDIT = "edit must be an object with at, and where wanted renoise, force, freeze, release and settings."

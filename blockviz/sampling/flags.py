"""The flags that name a model and its sampler, the same for every command that runs one, and what they mean.

Names, help and bounds of the settings come from `sampling/settings.py`.
"""

from __future__ import annotations

import argparse
from typing import Any

from blockviz.base.command_line import add_release, any_path, device, name_or_path
from blockviz.models.checkpoint import CHECKPOINTS, Model, pick_device
from blockviz.models.released import Told, open_model
from blockviz.sampling.settings import FIELDS, PRESETS, Field, SamplerSettings, from_preset, from_text


def add_model(parser: argparse.ArgumentParser) -> None:
    """The model, where it is looked up, its device, and what a release does not say."""
    parser.add_argument(
        "model",
        type=name_or_path,
        metavar="MODEL",
        help="name of a checkpoint, its folder, or hf:OWNER/REPO/SUBFOLDER for one released at the Hugging Face Hub",
    )
    parser.add_argument(
        "--folder", type=any_path, default=CHECKPOINTS, help="folder in which names are looked up"
    )
    parser.add_argument(
        "--device", type=device, default="auto", help="auto, cuda, cuda:N, mps or cpu (default: %(default)s)"
    )
    add_release(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """A preset, and one flag for every setting."""
    group = parser.add_argument_group("settings")
    presets = "; ".join(f"{preset.name}: {preset.help}" for preset in PRESETS.values())
    group.add_argument(
        "--preset", default="ancestral", metavar="NAME", help=_plain(f"{presets} (default: ancestral)")
    )
    for field in FIELDS.values():
        flag = "--" + field.name.replace("_", "-")
        if field.kind == "bool":
            group.add_argument(
                flag, action=argparse.BooleanOptionalAction, default=None, help=_plain(field.help)
            )
        else:
            group.add_argument(flag, metavar=field.kind.upper(), default=None, help=_field_help(field))


def _field_help(field: Field) -> str:
    default = "the model's" if field.default is None else field.default
    return _plain(f"{field.help} {field.allowed[0].upper()}{field.allowed[1:]} (default: {default})")


def _plain(text: str) -> str:
    return text.replace("%", "%%")  # argparse formats help texts


def settings_of(options: argparse.Namespace) -> SamplerSettings:
    """The settings that the flags ask for; raises SettingsError."""
    values: dict[str, Any] = {}
    for name in FIELDS:
        given = getattr(options, name)
        if given is not None:
            values[name] = given if isinstance(given, bool) else from_text(name, given)
    return from_preset(options.preset, **values)


def model_of(options: argparse.Namespace) -> Model:
    """The model that the flags name, loaded; raises CheckpointError."""
    pick_device(options.device)  # refused before the weights are read
    told = Told(options.process, options.tokenizer, options.block_sizes, options.block_weights)
    return open_model(options.model, options.device, folder=options.folder, told=told)

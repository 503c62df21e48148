"""Files from the Hugging Face Hub by `hf:OWNER/REPO[/SUBFOLDER][@REVISION]`: fetched once, then found in its cache.

Only the command line and the start of the page come here; nothing that a visitor types does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from blockviz.models.fields import CheckpointError

PREFIX = "hf:"
_PART = r"(?!\.+(?:/|@|$))[\w.-]{1,96}"
_SPEC = re.compile(rf"({_PART}/{_PART})((?:/{_PART})*)(?:@({_PART}))?", re.ASCII)


@dataclass(frozen=True)
class HubFolder:
    """A folder of a repository; `subfolder` is "" for the repository itself, `revision` None for its main branch."""

    repository: str
    subfolder: str
    revision: str | None

    @property
    def name(self) -> str:
        """A short name for the folder: the last four parts of its path, or the repository's own."""
        parts = self.subfolder.split("/") if self.subfolder else [self.repository.split("/")[1]]
        return "-".join(parts[-4:])


def parse(spec: str) -> HubFolder:
    """The folder that `hf:...` names. Raises CheckpointError for anything else."""
    match = _SPEC.fullmatch(spec.removeprefix(PREFIX))
    if not spec.startswith(PREFIX) or match is None:
        raise CheckpointError(
            f"{spec[:100]!r} names no checkpoint of the Hub: write hf:OWNER/REPO/SUBFOLDER, with @REVISION behind it "
            "if it is not the newest"
        )
    return HubFolder(match[1], match[2].lstrip("/"), match[3])


def fetch(folder: HubFolder, *files: str) -> Path:
    """The local folder that holds `files` of a Hub folder.

    What the cache has is used without asking the Hub, so a release that was fetched once needs no network; a newer one
    is had by its @REVISION. Shows a bar on stderr while it downloads. Raises CheckpointError, in one sentence, when a
    file is not to be had.
    """
    from huggingface_hub import hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    where = "/".join(filter(None, (folder.repository, folder.subfolder)))
    found = Path()
    for file in files:
        path = "/".join(filter(None, (folder.subfolder, file)))
        cached = try_to_load_from_cache(folder.repository, path, revision=folder.revision)
        if isinstance(cached, str):
            found = Path(cached)
            continue
        try:
            found = Path(
                hf_hub_download(
                    folder.repository,
                    file,
                    subfolder=folder.subfolder or None,
                    revision=folder.revision,
                )
            )
        except LocalEntryNotFoundError:
            raise CheckpointError(
                f"{file} of {where} is not in the cache here and the Hugging Face Hub cannot be reached"
            ) from None
        except GatedRepoError:
            raise CheckpointError(f"{where} asks for a login at the Hugging Face Hub") from None
        except RevisionNotFoundError:
            raise CheckpointError(f"{folder.repository} has no revision {folder.revision}") from None
        except RepositoryNotFoundError:
            raise CheckpointError(
                f"the Hugging Face Hub has no repository {folder.repository} for you"
            ) from None
        except EntryNotFoundError:
            raise CheckpointError(f"{where} at the Hugging Face Hub has no {file}") from None
        except (HfHubHTTPError, OSError, ValueError) as error:
            line = " ".join(str(error).split())[:200]
            raise CheckpointError(f"{file} of {where} could not be fetched: {line}") from None
    return found.parent

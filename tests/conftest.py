"""What every test shares: repeatable property tests, never judged by the clock, and one thread per process."""

from __future__ import annotations

import torch
from hypothesis import settings

# The tensors are tiny: more threads only wait for each other, most of all beside another process.
torch.set_num_threads(1)

settings.register_profile("blockviz", deadline=None, derandomize=True)
settings.load_profile("blockviz")

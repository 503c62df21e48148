"""What every test shares: property tests are repeatable and never judged by the clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("blockviz", deadline=None, derandomize=True)
settings.load_profile("blockviz")

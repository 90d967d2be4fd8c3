"""Generated input: drawn alike at every run here, and ever anew by ``--hypothesis-profile=search``.

A failure that a search finds stays as an ``@example`` of its test.
"""

from hypothesis import HealthCheck, settings

slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile(
    "repeated", derandomize=True, max_examples=50, deadline=None, database=None,
    suppress_health_check=slow,
)  # fmt: skip
settings.register_profile("search", max_examples=2000, deadline=None, suppress_health_check=slow)
settings.load_profile("repeated")

"""Generated input: the same at every run; ``--hypothesis-profile=search`` draws new input.

A failure that a search finds stays as an ``@example`` of its test.
"""

from hypothesis import HealthCheck, settings

slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
search = settings(max_examples=2000, deadline=None, suppress_health_check=slow)
settings.register_profile("search", search)
repeated = settings(search, derandomize=True, max_examples=50, database=None)
settings.register_profile("repeated", repeated)
settings.load_profile("repeated")

"""Templates of pages, filled with values."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def read_templates(folder: Path) -> Environment:
    """Return the templates of a folder; a name without a value is an error."""
    return Environment(
        loader=FileSystemLoader(folder),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )


TEMPLATES = read_templates(Path(__file__).parent / "templates")


def render(template: str, **values) -> str:
    """Return a template of ``synthesis/templates`` with these values."""
    return TEMPLATES.get_template(template).render(values)

"""Execute notebooks with their default parameters and store the outputs in them.

    python workflow/refresh.py                    all of them
    python workflow/refresh.py notebooks/X/Y.ipynb

What changes from one execution to the next without meaning anything (times, progress bars,
warnings on the error stream) is left out, so that a review shows what has really changed.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from tqdm import tqdm

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Refresh the notebooks named on the command line, by default all."""
    named = [Path(name) for name in sys.argv[1:]]
    for path in tqdm(named or sorted((ROOT / "notebooks").rglob("*.ipynb")), unit="notebook"):
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, resources={"metadata": {"path": str(ROOT)}}).execute()
        for cell in notebook.cells:
            cell.metadata = {"tags": cell.metadata["tags"]} if "tags" in cell.metadata else {}
            if cell.cell_type == "code":
                cell.outputs = [one for one in cell.outputs if one.get("name") != "stderr"]
        notebook.metadata = {
            "kernelspec": notebook.metadata["kernelspec"],
            "language_info": {"name": "python"},
        }
        nbformat.write(notebook, path)


if __name__ == "__main__":
    main()

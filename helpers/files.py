"""Files that appear whole or not at all, and where the project keeps them."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

LONGEST_SOCKET = 103  #: bytes of a socket's path on macOS; Linux allows 107


def project_root() -> Path:
    """Return the checkout that this package was installed from, else the working directory."""
    checkout = Path(__file__).resolve().parent.parent
    # Path.exists raises PermissionError in Python 3.11 if a folder above may not be read
    return checkout if os.path.exists(checkout / "pyproject.toml") else Path.cwd()


def folder(variable: str, default: str) -> Path:
    """Return the folder that the environment variable names, else `default` under the project.

    Relative paths count from the project's root, so that a notebook finds the same
    folder from wherever it is started.

    Examples
    --------
    >>> folder("NO_SUCH_VARIABLE", "data").name
    'data'
    """
    return project_root() / Path(os.environ.get(variable) or default).expanduser()


def content_of(module: str, name: str = "") -> Any:
    """Return the content of the file ``NAME.yaml`` next to a module, given by its ``__file__``.

    By default the file has the module's name.
    """
    import yaml  # here, because most importers of this module read no such file

    file = Path(module).with_name(f"{name or Path(module).stem}.yaml")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the first one is faster
    return yaml.load(file.read_text(encoding="utf-8"), loader)


def data_root() -> Path:
    """Folder of prepared packs and downloads: ``DATA_ROOT``, by default ``data/``."""
    return folder("DATA_ROOT", "data")


def network_root() -> Path:
    """Folder of published networks: ``NETWORK_ROOT``, by default ``networks/``."""
    return folder("NETWORK_ROOT", "networks")


def cache_root() -> Path:
    """Folder of trained weights and outputs: ``CACHE_ROOT``, by default ``cache/``."""
    return folder("CACHE_ROOT", "cache")


def socket_folder(name: str) -> Path | None:
    """Return a folder for temporary files in which a socket of this name fits; None without one."""
    for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        fits = len(os.fsencode(parent + name)) <= LONGEST_SOCKET
        if fits and os.access(parent, os.W_OK):
            return Path(parent)
    return None


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Give a temporary path next to `path`, which is renamed to it only if the block succeeds.

    After a kill or with a full disk, there is the old file or no file, but never half of one.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with atomic_path(target) as temporary:
    ...     _ = temporary.write_text("42")
    >>> target.read_text()
    '42'
    """
    path = Path(path)
    check_no_device(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with open(temporary, "r+b") as written:  # Windows flushes no file that is only read
            os.fsync(written.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp gives 0600, which other users could not read
        os.replace(temporary, path)
    except OSError as error:
        number = [] if error.errno is None else [error.errno]
        raise OSError(*number, f"{path} could not be written: {error}") from error
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(path: str | os.PathLike) -> Iterator[None]:
    """Wait for a lock that one process at a time holds; any end of the process releases it.

    Examples
    --------
    >>> with locked(Path(tempfile.mkdtemp()) / "network.lock"):
    ...     pass
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        _wait_for_lock(file.fileno())
        yield


def _wait_for_lock(descriptor: int) -> None:
    """Lock an open file; the lock ends when the file is closed."""
    try:
        import fcntl
    except ImportError:  # Windows
        _wait_on_windows(descriptor)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX)


def _wait_on_windows(descriptor: int) -> None:
    msvcrt = importlib.import_module("msvcrt")  # a type checker finds it on Windows alone
    while True:
        with contextlib.suppress(PermissionError, BlockingIOError):
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            return
        time.sleep(0.1)


@contextlib.contextmanager
def atomic_folder(
    path: str | os.PathLike, *, replaces: Collection[str] | None = None
) -> Iterator[Path]:
    """Give an empty folder next to `path`, which is renamed to it only if the block succeeds.

    Examples
    --------
    >>> target = Path(tempfile.mkdtemp()) / "answers"
    >>> with atomic_folder(target) as temporary:
    ...     _ = (temporary / "answer.txt").write_text("42")
    >>> [entry.name for entry in target.iterdir()]
    ['answer.txt']
    """
    path = Path(path)
    path = path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
    check_free(path, replaces)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    temporary = beside / "made"
    before = beside / "before"
    try:
        temporary.mkdir()  # with usual permissions, unlike mkdtemp's
        yield temporary
        check_free(path, replaces)  # a while has passed
        if path.exists():
            path.rename(before)
        try:
            temporary.rename(path)
        except BaseException:
            if before.exists():
                before.rename(path)
            raise
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def check_free(path: Path, replaces: Collection[str] | None = None) -> None:
    """Refuse a folder that `atomic_folder` would refuse, with its parameters and errors."""
    if not (path.exists() or path.is_symlink()):
        return
    if replaces is None:
        raise FileExistsError(
            f"{path} exists already; name another folder, or replace it with --force"
        )
    if not path.is_dir() or path.is_symlink():
        raise FileExistsError(f"{path} is not a folder; name another path")
    if others := sorted({entry.name for entry in path.iterdir()} - {*replaces}):
        raise FileExistsError(
            f"{path} holds other files ({', '.join(others[:3])}), so it is left as it is; name "
            "another folder"
        )


def check_no_device(path: Path) -> None:
    """Refuse a folder, and a device or a pipe: a renamed file would take the place of it.

    Examples
    --------
    >>> check_no_device(Path("/dev/null"))
    Traceback (most recent call last):
        ...
    ValueError: /dev/null is a device or a pipe; name a file
    """
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is a device or a pipe; name a file")


def sha256_file(path: str | os.PathLike) -> str:
    """Return the hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

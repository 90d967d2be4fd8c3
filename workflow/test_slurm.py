"""Try the cluster's profile on a Slurm of one's own: submit, kill, resume, compare.

    python workflow/test_slurm.py

It starts `munged`, `slurmctld` and `slurmd` with a configuration of their own in a temporary
folder, this machine being the one node, and changes nothing outside that folder.  There, in copies
of the repository, a chapter with one small network is made: on this machine alone, and as jobs.
Its training is cancelled, then loses its node, then the pipeline itself is interrupted; the same
command again has to come to the same results table, bit for bit.  Two chapters of tier `rehearsal`
are made in both ways, too, with nothing in their way.  What was started is stopped, however this
ends.
"""

import contextlib
import getpass
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PROFILE = "workflow/profiles/slurm"
PAPER, STEP = "openset_calibration", "openset_calibration/evaluation"
SMALL = {"data_sets": ["digits"], "runs": 1}
"""What the chapter has instead of the parameters of tier mini; with its first network alone."""
EPOCHS = 60  # so that the training lasts long enough to be ended in the middle, three times
SELDOM, ALWAYS = (f"checkpoint_seconds: float = {seconds}" for seconds in (30.0, 0.0))
"""In the training loop, which keeps an epoch every half minute: here every one, in both copies."""
HASTE = {
    "latency-wait": 5,
    "slurm-status-command": "squeue",  # sacct wants a data base
    "slurm-init-seconds-before-status-checks": 2,
    "seconds-between-status-checks": 2,
}
"""What this trial adds to the profile."""
COPIED = ("benchmarks", "helpers", "pictures", "workflow")
REHEARSED = ("gscore", "unknown_detection")
"""The chapters of the rehearsal that take the least time."""
PATIENCE = 1800  # seconds that anything may take
CONFIGURATION = """\
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=1,sched_interval=5
SlurmdParameters=config_overrides
KillWait=5
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=trial Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def check_tools() -> None:
    """End with a message unless Slurm, munge and Snakemake's executor are installed."""
    found = os.environ["PATH"] = f"{os.environ['PATH']}{os.pathsep}/usr/sbin"
    programs = {"munged": "munge", **dict.fromkeys(("slurmctld", "slurmd", "sbatch"), "slurm-wlm")}
    packages = {programs[name] for name in programs if not shutil.which(name, path=found)}
    if packages:
        names = " ".join(sorted(packages))
        sys.exit(f"missing: {names}; on Debian or Ubuntu, `apt-get install {names}` as root")
    if not importlib.util.find_spec("snakemake_executor_plugin_slurm"):
        sys.exit('missing: Snakemake\'s executor; `.venv/bin/pip install -e ".[slurm]"`')


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[None]:
    """Start a Slurm of one node in a folder, and stop it with all its jobs."""
    with contextlib.ExitStack() as sockets:
        free = [sockets.enter_context(socket.socket()) for _ in range(2)]
        for one in free:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in free]
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    folder.chmod(0o711)  # munged has no socket where not everybody can come to it
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir(mode=0o700)
    key = folder / "munge" / "key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    configuration = folder / "slurm.conf"
    host, user = socket.gethostname().partition(".")[0], getpass.getuser()
    configuration.write_text(
        CONFIGURATION.format(
            host=host, user=user, folder=folder, ports=ports, cpus=os.cpu_count(), memory=memory
        )
    )
    os.environ["SLURM_CONF"] = str(configuration)
    # the executor takes this variable from srun, since those of a real cluster know their place
    srun = folder / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={configuration} exec {shutil.which("srun")} "$@"\n')
    srun.chmod(0o755)
    os.environ["PATH"] = f"{srun.parent}{os.pathsep}{os.environ['PATH']}"
    files = [f"--{name}-file={folder}/munge/{name}" for name in ("key", "pid", "log", "seed")]
    daemons = {
        "munged": ["--foreground", f"--socket={folder}/munge.socket", *files],
        "slurmctld": ["-D", "-f", configuration],
        "slurmd": ["-D", "-f", configuration],
    }
    started: list[subprocess.Popen] = []
    try:
        for name, arguments in daemons.items():
            log = open(folder / f"{name}.log", "w")
            started.append(subprocess.Popen([name, *arguments], stdout=log, stderr=log))
            if name == "munged":
                wait_for("munged", (folder / "munge.socket").exists, started)
        wait_for("an idle node", lambda: "idle" in told("sinfo", "-h", "-o", "%t"), started)
        yield
    except BaseException:
        for daemon in started:
            last = (folder / f"{daemon.args[0]}.log").read_text().splitlines()[-10:]
            print(f"the end of {daemon.args[0]}'s log:", *last, sep="\n    ")
        raise
    finally:
        told("scancel", "--user", user)
        with contextlib.suppress(TimeoutError):
            wait_for("the last job's end", lambda: not told("squeue", "-h"), patience=30)
        for daemon in reversed(started):
            daemon.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                daemon.wait(20)
            daemon.kill()
        end_what_is_left(f"SLURM_CONF={configuration}".encode())


def end_what_is_left(variable: bytes) -> None:
    """Kill the processes that were started with a variable: of jobs that their node lost."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            if variable in file.read_bytes().split(b"\0"):
                os.kill(int(file.parent.name), signal.SIGKILL)


def told(*command: str) -> str:
    """Return what a command prints; "" where it fails."""
    return subprocess.run(command, stdout=subprocess.PIPE, text=True).stdout.strip()


def wait_for(
    what: str, there: Callable[[], object], needed: list[subprocess.Popen] = (), patience=PATIENCE
) -> None:
    """Wait until something is there.

    Raises
    ------
    TimeoutError
        It is not, after some minutes, or a process that is needed for it has ended.
    """
    end = time.monotonic() + patience
    while not there():
        if ended := [one.args[0] for one in needed if one.poll() is not None]:
            raise TimeoutError(f"waited for {what}, but {', '.join(map(str, ended))} ended")
        if time.monotonic() > end:
            raise TimeoutError(f"waited {patience} seconds for {what}")
        time.sleep(0.5)


class Trial:
    """The pipeline in a copy of the repository, of which some chapters are left and made small.

    Parameters
    ----------
    copy : Path
        A folder that is not there yet.
    """

    papers: tuple[str, ...] = (PAPER,)
    asked: tuple[str, ...] = ("--step", STEP)
    runs = "runs/mini"

    def __init__(self, copy: Path):
        self.copy, self.screen = copy, copy.with_suffix(".screen")
        for name in (*COPIED, *(f"notebooks/{paper}" for paper in self.papers)):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", copy)
        for paper in self.papers:
            own = [*ROOT.glob(f"params/*/{paper}.yaml"), *ROOT.glob(f"results/*/{paper}.parquet")]
            for file in own:  # of all tiers: a page shows what the largest has found
                (copy / file.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, copy / file.relative_to(ROOT))
        profile = copy / PROFILE / "config.yaml"
        told = yaml.safe_load(profile.read_text(encoding="utf-8")) | HASTE
        profile.write_text(yaml.safe_dump(told), encoding="utf-8")
        self.variables = {
            "PYTHONPATH": os.pathsep.join([str(copy), *filter(None, sys.path[1:])]),
            "CACHE_ROOT": "cache",
        }
        self.make_small()

    def make_small(self) -> None:
        """Leave one network, trained for many epochs of which each is kept."""
        file = self.copy / "params" / "mini" / f"{PAPER}.yaml"
        parameters = yaml.safe_load(file.read_text(encoding="utf-8")) | SMALL
        name, size = next(iter(parameters["networks"].items()))
        parameters["networks"] = {name: size | {"epochs": EPOCHS}}
        file.write_text(yaml.safe_dump(parameters), encoding="utf-8")
        loop = self.copy / "helpers" / "training" / "loop.py"
        if SELDOM not in (code := loop.read_text(encoding="utf-8")):
            raise ValueError(f"{loop}: no {SELDOM!r}, which the trial makes 0")
        loop.write_text(code.replace(SELDOM, ALWAYS), encoding="utf-8")

    @contextlib.contextmanager
    def pipeline(self, *more: str) -> Iterator[subprocess.Popen]:
        """Start the pipeline as `make run` does; end it, and show what was on its screen."""
        command = [sys.executable, "workflow/run.py", *self.asked, *more, "all"]
        with open(self.screen, "w") as screen:
            begun = subprocess.Popen(
                command, cwd=self.copy, env=os.environ | self.variables,
                stdout=screen, stderr=screen,
            )  # fmt: skip
        try:
            yield begun
            begun.wait(PATIENCE)
        finally:
            if begun.poll() is None:
                begun.send_signal(signal.SIGINT)  # which ends its jobs, too
                with contextlib.suppress(subprocess.TimeoutExpired):
                    begun.wait(60)
                begun.kill()
            print(*(f"    {line}" for line in self.said().splitlines()), sep="\n", flush=True)

    def said(self) -> str:
        """Return what has been on the pipeline's screen."""
        return self.screen.read_text()

    def wait_for_epoch(self, pipeline: subprocess.Popen) -> None:
        """Wait until the training has kept an epoch from now on."""
        now = time.time()

        def kept() -> bool:
            files = (self.copy / "cache").glob("networks/*.partial")
            return any(one.stat().st_mtime > now for one in files)

        wait_for("an epoch of the training", kept, [pipeline])


class Rehearsal(Trial):
    """The same with two chapters of the rehearsal, as they are, and all of their notebooks."""

    papers = REHEARSED
    asked = ("--tier", "rehearsal")
    runs = "runs/rehearsal"

    def make_small(self) -> None:
        """Leave them as they are: they are small."""

    def make_data(self) -> None:
        """Make what both chapters read, once."""
        command = [sys.executable, "workflow/rehearse.py", "--data"]
        subprocess.run(command, cwd=self.copy, env=os.environ | self.variables, check=True)
        self.read(self)

    def read(self, other: Trial) -> None:
        """Read the data of this copy, or of another."""
        self.variables["DATA_ROOT"] = str(other.copy / self.runs / "data")


def check(holds: bool, what: str) -> None:
    """Say that something holds, or end."""
    if not holds:
        sys.exit(f"FAILED: {what}")
    print(f"holds: {what}", flush=True)


def cancelled_and_resumed(folder: Path) -> tuple[Trial, Trial]:
    """Make a chapter on this machine alone and as jobs, which nothing is spared."""
    print("the chapter, on this machine alone", flush=True)
    alone, one = Trial(folder / "alone"), Trial(folder / "jobs")
    with alone.pipeline("--cores", "1") as here:
        pass
    check(here.returncode == 0, "the chapter is made without Slurm")

    print("jobs that ask for a GPU where there is none", flush=True)
    asked = one.copy / "workflow" / "resources.yaml"
    text = asked.read_text()
    asked.write_text(text.replace("mini: {gpu: 0", "mini: {gpu: 1"))
    with one.pipeline("--profile", PROFILE) as refused:
        pass
    asked.write_text(text)
    check(refused.returncode != 0, "the pipeline ends with an error when jobs are refused")
    check("sbatch: error" in one.said(), "the screen says why Slurm refuses them")

    print("a job is cancelled, then loses its node, then the pipeline is ended", flush=True)
    with one.pipeline("--profile", PROFILE) as ended:
        one.wait_for_epoch(ended)
        job = told("squeue", "-h", "-t", "R", "-o", "%A")
        told("scancel", job)
        wait_for("word of it", lambda: f"job '{job}' failed" in one.said(), [ended])
        one.wait_for_epoch(ended)
        node = ("scontrol", "update", f"NodeName={socket.gethostname().partition('.')[0]}")
        told(*node, "State=DOWN", "Reason=trial")
        wait_for("the job's end", lambda: not told("squeue", "-h", "-t", "R,CG"), [ended])
        told(*node, "State=RESUME")
        one.wait_for_epoch(ended)
        ended.send_signal(signal.SIGINT)
    check(ended.returncode != 0, "an interrupted pipeline says so")
    wait_for("its jobs' end", lambda: not told("squeue", "-h"), patience=60)
    last = one.copy / "runs" / "mini" / f"{STEP}.ipynb"
    check(not last.exists(), "it had not come to the end")

    print("the same command again", flush=True)
    with one.pipeline("--profile", PROFILE) as again:
        pass
    check(again.returncode == 0, "it goes on to the end")
    return alone, one


def rehearsed(folder: Path) -> tuple[Trial, Trial]:
    """Make two chapters of the rehearsal on this machine alone and as jobs, undisturbed."""
    print("two chapters of the rehearsal, as jobs", flush=True)
    small, jobs = Rehearsal(folder / "rehearsed"), Rehearsal(folder / "rehearsed_as_jobs")
    small.make_data()
    jobs.read(small)
    with jobs.pipeline("--profile", PROFILE) as there:
        pass
    check(there.returncode == 0, "the rehearsal is made by Slurm")
    print("two chapters of the rehearsal, on this machine alone", flush=True)
    with small.pipeline("--cores", str(os.cpu_count())) as here:
        pass
    check(here.returncode == 0, "the rehearsal is made without Slurm")
    return small, jobs


def trial(folder: Path) -> None:
    """Go through everything that the profile promises."""
    with cluster(folder):  # first of all: where it does not start, nothing else is worth its time
        chapter = cancelled_and_resumed(folder)
        rehearsal = rehearsed(folder)
    for apart, together in (chapter, rehearsal):
        compared = [sys.executable, "workflow/compare.py", together.runs, apart.copy / apart.runs]
        same = subprocess.run(compared, cwd=together.copy).returncode == 0
        check(same, f"tables in {apart.runs} are those of this machine alone, bit for bit")


def main() -> None:
    """Try everything in a temporary folder."""
    check_tools()
    # as for Ctrl-C: what was started is stopped
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    # a shell has what it starts in the background ignore it, and so would the pipeline
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        trial(Path(folder))


if __name__ == "__main__":
    main()

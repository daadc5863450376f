"""Starting Spark: requirements are checked first, and waiting for a cluster has a time limit."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from hornbeam.base.machine import worker_threads
from hornbeam.base.progress import Progress
from hornbeam.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The oldest Java that Spark runs on.
JAVA = 17
#: Seconds that a master has to accept a connection.
CONNECT_SECONDS = 10.0
#: Seconds that a cluster has to run a first, empty job.
FIRST_JOB_SECONDS = 180.0

#: Tasks per core of this machine: enough that the last one does not take long.
LOCAL_TASKS_PER_CORE = 8

#: Settings of Spark; the user's own, in `conf` or spark-defaults.conf, come first.
SETTINGS = {
    "spark.app.name": "hornbeam",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.adaptive.enabled": "true",
    # a few megabytes of frontier lead to hundreds of millions of paths: do not merge small
    # partitions into one task
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
    # rows partitioned by source need not be shuffled for joins by source and node
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # frontiers are small compared with the steps that they are joined to: hash joins, no sorts
    "spark.sql.join.preferSortMergeJoin": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.session.timeZone": "UTC",
}


@contextmanager
def spark_session(
    master: str, conf: Mapping[str, str], progress: Progress
) -> Iterator[SparkSession]:
    """Start Spark, and stop it however the work ends."""
    check_ready(master)
    progress.message(f"Starting Spark on {master} ...")
    session = _started(master, conf)
    try:
        _check_answers(session, master)
        yield session
    finally:
        with contextlib.suppress(Exception):
            session.stop()


def check_ready(master: str) -> None:
    """Refuse where PySpark, the master or Java is missing."""
    if find_spec("pyspark") is None or find_spec("pyarrow") is None:
        raise MissingExtraError("Spark", "spark")
    check_master(master)
    check_java()


def _started(master: str, conf: Mapping[str, str]) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    # hide PySpark's warnings about versions of its dependencies
    warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    before = _children()
    try:
        builder = SparkSession.builder.master(master)
        for key, value in (own_settings(master) | dict(conf)).items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except PySparkException as error:
        raise InputError(f"Spark does not start: {_first_line(error)}") from None
    except Exception as error:
        # Java exceptions have no common Python class
        raise InputError(
            f"Spark does not start on {master}: {_first_line(error)}; check `master` and `conf`"
        ) from None
    except KeyboardInterrupt:
        # a JVM that has not yet reported its port to PySpark would otherwise wait forever
        for process in _children() - before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        raise


def own_settings(master: str) -> dict[str, str]:
    """Hornbeam's settings, without those that the user's spark-defaults.conf names."""
    quiet = Path(__file__).with_name("log4j2.properties").as_uri()
    own = SETTINGS | {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={quiet}"}
    if master.startswith("local"):
        own["spark.driver.host"] = "127.0.0.1"
        # Spark's own default, 200, is for clusters
        own["spark.sql.shuffle.partitions"] = str(LOCAL_TASKS_PER_CORE * worker_threads())
    named = _named_in_defaults()
    return {key: value for key, value in own.items() if key not in named}


def _named_in_defaults() -> set[str]:
    """Keys in spark-defaults.conf, a file of Java properties; none where there is no such file."""
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and os.path.join(home, "conf"))
    if not folder:
        return set()
    try:
        text = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:  # Spark reads none either
        return set()
    return set(re.findall(r"^[ \t]*([^#!\s=:][^\s=:]*)", text, re.MULTILINE))


def _children() -> set[int]:
    """Processes that this thread has started; none where the system has no /proc."""
    listed = Path(f"/proc/self/task/{threading.get_native_id()}/children")
    return set(map(int, listed.read_text().split())) if listed.exists() else set()


def check_java() -> None:
    """Refuse where there is no Java, or one that is too old."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    advice = f"install Java {JAVA} (Debian: apt-get install openjdk-{JAVA}-jre-headless)"
    if java is None or not os.access(java, os.X_OK):
        where = f"JAVA_HOME={home} has no bin/java" if home else "no Java was found"
        raise InputError(f"Spark needs Java {JAVA}, and {where}: {advice}")
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, timeout=60, check=False)
        text = (answer.stderr + answer.stdout).decode(errors="replace")
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"{java} does not run ({error}): {advice}") from None
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if found is None or int(found.group(1)) < JAVA:
        version = found.group(1) if found else "an unknown version"
        raise InputError(
            f"Spark needs Java {JAVA} or newer, and {java} is {version}: {advice}, "
            "or set JAVA_HOME to it"
        )


def check_master(master: str) -> None:
    """Refuse a master that cannot be reached within seconds."""
    if re.fullmatch(r"local(-cluster)?(\[[\d*,\s]+\])?|yarn", master):
        return
    match = re.fullmatch(r"(?:spark|k8s)://(?:https?://)?(.+)", master)
    if match is None:
        raise InputError(
            f"`master` {master!r}: expected local[N], spark://HOST:PORT, yarn or k8s://HOST:PORT"
        )
    for place in match.group(1).split(","):
        host, _, port = place.rpartition(":")
        if not port.isdigit():
            raise InputError(f"`master` {master!r}: expected HOST:PORT, found {place!r}")
        with (
            contextlib.suppress(OSError),
            socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS),
        ):
            return
    raise InputError(f"the Spark master {master} does not answer; check `master` and the network")


def _check_answers(session: SparkSession, master: str) -> None:
    """Run an empty job with a time limit: a cluster without free workers never answers."""
    failure: list[Exception] = []

    def job() -> None:
        try:
            session.range(1).count()
        except Exception as error:
            failure.append(error)

    trial = threading.Thread(target=job, daemon=True)
    trial.start()
    trial.join(FIRST_JOB_SECONDS)
    if trial.is_alive() or failure:
        why = _first_line(failure[0]) if failure else f"no job ran in {FIRST_JOB_SECONDS:.0f} s"
        raise InputError(
            f"the Spark master {master} gives no workers ({why}); check that the cluster has free "
            "memory and cores for spark.executor.memory and spark.executor.cores"
        )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]

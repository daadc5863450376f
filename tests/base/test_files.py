from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from hornbeam.base import files
from hornbeam.base.files import save_folder, save_text, working_folder
from hornbeam.errors import DataError, InputError
from tests.support.commands import PATIENCE

LINES = "né\r\n\u2028 last"


def test_bytes_are_the_text(tmp_path: Path) -> None:
    save_text(tmp_path / "new.psl", LINES)
    assert (tmp_path / "new.psl").read_bytes() == LINES.encode()
    assert os.listdir(tmp_path) == ["new.psl"]


def test_a_file_is_replaced_with_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "model.psl"
    path.write_text("old")
    path.chmod(0o640)
    save_text(str(path), "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["model.psl"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    save_text(tmp_path / "new", "")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "file")
    for text in ("first", "second"):
        save_text(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "file").read_text() == text


def test_a_long_name(tmp_path: Path) -> None:
    save_text(tmp_path / ("n" * 255), "text")
    assert (tmp_path / ("n" * 255)).read_text() == "text"


def test_standard_output_is_not_replaced(tmp_path: Path) -> None:
    code = "from hornbeam.base.files import save_text; save_text('/dev/stdout', 'second')"
    with (tmp_path / "out").open("w") as out:
        out.write("first ")
        out.flush()
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "first second"


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    save_text("/dev/null", "text")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe, read = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    save_text(pipe, "text")
    reader.join(PATIENCE)
    assert read == ["text"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("missing/model.psl", "its folder does not exist; make it first"),
        ("folder", "it is a folder; name a file in it"),
        ("file/model.psl", "its folder is a file"),
        ("n" * 256, "name too long"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(DataError) as caught:
        save_text(tmp_path / name, "text")
    assert str(caught.value).startswith(f"{tmp_path / name}: cannot be written: ")
    assert said in str(caught.value).replace("File name", "name")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (PermissionError(13, "Permission denied"), DataError),
        (OSError(28, "No space left on device"), DataError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_a_failure_leaves_the_old_file_and_nothing_else(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    raised: type[BaseException],
) -> None:
    def fail(*_: object) -> None:
        raise failure

    (tmp_path / "model.psl").write_text("old")
    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(raised):
        save_text(tmp_path / "model.psl", "new")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["model.psl"]
    assert (tmp_path / "model.psl").read_text() == "old"


ABANDONED = f".hornbeam-{'0123456789abcdef'}.tmp"


def test_what_a_killed_run_left_is_deleted(tmp_path: Path) -> None:
    (tmp_path / ABANDONED).write_text("half")
    (tmp_path / ABANDONED.replace("0", "1")).mkdir()
    (tmp_path / ABANDONED.replace("0", "1") / "file").touch()
    others = [".hornbeam-x.tmp", f"{ABANDONED}.mine", "hornbeam"]
    for name in others:
        (tmp_path / name).touch()
    save_text(tmp_path / "new", "text")
    assert sorted(os.listdir(tmp_path)) == sorted([*others, "new"])


def test_a_link_with_a_temporary_name_stays_with_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (tmp_path / ABANDONED).symlink_to(tmp_path / "precious")
    save_text(tmp_path / "new", "text")
    assert (tmp_path / ABANDONED).is_symlink()
    assert (tmp_path / "precious" / "file").exists()


def test_what_another_run_is_writing_stays(tmp_path: Path) -> None:
    with working_folder(tmp_path) as working:
        (working / "spilt").touch()
        save_text(tmp_path / "new", "text")
        assert (working / "spilt").exists()
    assert os.listdir(tmp_path) == ["new"]


def _write(text: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / "file").write_text(text)

    return write


def _only_file(folder: Path) -> str | None:
    return next((path.name for path in folder.iterdir() if path.name != "file"), None)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_folder_is_replaced_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    if not exchange:
        monkeypatch.setattr(files, "_exchanged", lambda *_: False)
    folder = tmp_path / "folder"
    for text in ("first", "second"):
        save_folder(folder, _write(text), _only_file)
        assert (folder / "file").read_text() == text
        assert os.listdir(tmp_path) == ["folder"]
        folder.chmod(0o750)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750


def test_a_folder_with_other_things_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(InputError, match="holds mine; expected a new or an empty folder"):
        save_folder(tmp_path, _write("text"), _only_file)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="is a file; expected a folder"):
        save_folder(tmp_path / "file", _write("text"), _only_file)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InputError, match="you are in it"):
        save_folder(".", _write("text"), _only_file)


def test_no_working_folder_is_said(tmp_path: Path) -> None:
    said = r"missing: cannot be written to .*set `spill_dir` to another"
    with pytest.raises(InputError, match=said), working_folder(tmp_path / "missing"):
        pass


def test_what_another_run_took_for_abandoned_is_made_again(tmp_path: Path) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        path.mkdir()
        made.append(path)
        if len(made) == 1:
            path.rmdir()

    with files._temporary(tmp_path, make) as folder:
        assert folder.is_dir()
    assert len(made) == 2


@pytest.mark.slow
def test_without_locks_of_the_system(tmp_path: Path) -> None:
    # as on Windows: everything imports, files and folders are written, and nothing is taken
    # for abandoned
    left = tmp_path / f".hornbeam-{'0' * 16}.tmp"
    left.touch()
    code = """
import pkgutil, sys
from pathlib import Path
sys.modules["fcntl"] = None
import hornbeam, hornbeam.cli.commands
for folder in ("facts", "cli", "graphs", "programs"):
    package = __import__(f"hornbeam.{folder}", fromlist=["x"])
    for module in pkgutil.walk_packages(package.__path__, f"hornbeam.{folder}."):
        __import__(module.name)
from hornbeam.base.files import save_folder, save_text, working_folder
save_text("a.txt", "text")
with working_folder() as folder:
    save_folder("f", lambda new: save_text(new / "b.txt", str(folder)), lambda place: None)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    assert sorted(os.listdir(tmp_path)) == [left.name, "a.txt", "f"]
    assert os.listdir(tmp_path / "f") == ["b.txt"]

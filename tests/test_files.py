"""Files are written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import verite as vt
from verite.errors import DataError, ReadError, VeriteError
from verite.files import (
    fill_folder,
    find_path,
    folder_atomically,
    part_suffix,
    read_lines,
    read_text,
    write_atomically,
)
from verite.limits import limit


def test_file_is_replaced_as_a_whole(tmp_path):
    target = tmp_path / "a.json"
    write_atomically(target, "old")
    write_atomically(target, "new")
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_failed_write_leaves_the_old_file_and_no_remains(tmp_path, monkeypatch):
    target = tmp_path / "a.json"
    write_atomically(target, "old")

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(vt.ReadError, match="no space left on device"):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_missing_folder_is_one_clear_line(tmp_path):
    with pytest.raises(vt.ReadError, match="expected a file that can be written, found no such file or directory"):
        write_atomically(tmp_path / "none" / "a.json", "x")


def test_folder_appears_only_when_complete(tmp_path):
    target = tmp_path / "out"

    def interrupted():
        with folder_atomically(target) as folder:
            (folder / "a").write_text("x")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert list(tmp_path.iterdir()) == []
    with folder_atomically(target) as folder:
        (folder / "a").write_text("x")
    assert [p.name for p in target.iterdir()] == ["a"]


def test_folder_with_files_is_never_replaced(tmp_path):
    (tmp_path / "mine").write_text("x")
    with pytest.raises(vt.ReadError, match="a new or empty folder"), folder_atomically(tmp_path):
        pass
    assert (tmp_path / "mine").read_text() == "x"


def fill(target, *, overwrite=True, **files):
    with fill_folder(target, overwrite=overwrite) as folder:
        for name, text in files.items():
            (folder / "in").mkdir(exist_ok=True)
            (folder / "in" / name).write_text(text)
            if text == "stop":
                raise OSError(28, "No space left on device")


def contents(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_folder_with_files_gets_new_ones_and_keeps_its_own(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a").write_text("old")
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(vt.ReadError, match=r"new or empty folder, found a folder with files in it; .*overwrite=True"):
        fill(tmp_path, a="new", overwrite=False)
    # vt.write has no such argument: its message must not name one.
    with pytest.raises(vt.ReadError) as refused:
        fill(tmp_path, a="new", overwrite=None)
    assert "overwrite" not in str(refused.value)
    assert contents(tmp_path) == {"in/a": "old", "mine": "mine"}
    fill(tmp_path, a="new", b="new")
    assert contents(tmp_path) == {"in/a": "new", "in/b": "new", "mine": "mine"}


@pytest.mark.parametrize("is_there", [True, False])
def test_full_disk_leaves_a_folder_as_it_was(tmp_path, is_there):
    target = tmp_path / "out"
    if is_there:
        fill(target, a="old")
    with pytest.raises(vt.ReadError, match="out: expected a file that can be written, found no space left on device"):
        fill(target, a="new", b="stop")
    assert contents(tmp_path) == ({"out/in/a": "old"} if is_there else {})


def tree(folder):
    """What is in a folder, hidden or not."""
    return {str(p.relative_to(folder)): None if p.is_dir() else p.read_text() for p in sorted(folder.rglob("*"))}


def renew(folder):
    """Two files that replace others, one that does not, and a folder."""
    with fill_folder(folder, overwrite=True) as home:
        (home / "inner").mkdir()
        for name in ("a.txt", "b.txt", "c.txt", "inner/d.txt"):
            (home / name).write_text("new")


def old_folder(folder):
    folder.mkdir()
    for name in ("a.txt", "b.txt", "z.txt"):
        (folder / name).write_text("old")
    return folder, tree(folder)


def test_overwriting_replaces_files_of_the_same_name_alone(tmp_path):
    folder, before = old_folder(tmp_path / "out")
    renew(folder)
    new = dict.fromkeys(("a.txt", "b.txt", "c.txt", "inner/d.txt"), "new")
    assert tree(folder) == before | new | {"inner": None}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_where_a_file_is_to_be_stops_before_anything_is_replaced(tmp_path):
    folder, _ = old_folder(tmp_path / "out")
    (folder / "c.txt").mkdir()
    before = tree(folder)
    with pytest.raises(vt.ReadError, match=r"c\.txt: expected a file that can be written, found a folder of this name"):
        renew(folder)
    assert tree(folder) == before


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path):
    mine, other = part_suffix(), part_suffix().replace("-", "elsewhere-")
    dead = mine.replace(f"-{os.getpid()}.", "-4194301.")  # beyond the largest number of a process
    for suffix in (mine, other, dead):
        (tmp_path / f".out.x1{suffix}").mkdir()
        (tmp_path / f".out.x1{suffix}" / "a").write_text("half")
        (tmp_path / f".a.json.x2{suffix}").write_text("half")
    (tmp_path / f".of somebody else.x{dead}").write_text("half")
    fill(tmp_path / "out", a="new")
    write_atomically(tmp_path / "a.json", "new")
    kept = {f".out.x1{mine}", f".out.x1{other}", f".a.json.x2{mine}", f".a.json.x2{other}"}
    assert {p.name for p in tmp_path.iterdir()} == {"out", "a.json", f".of somebody else.x{dead}"} | kept


def test_missing_file_shows_the_nearest_name(tmp_path):
    (tmp_path / "instances.json").write_text("{}")
    with pytest.raises(vt.ReadError, match=r"did you mean 'instances\.json'"):
        find_path(tmp_path / "instance.json")


def test_text_that_is_not_utf8_names_line_and_byte(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"good\nb\xe4d\n")
    with pytest.raises(vt.ReadError, match=r"a.txt:2: expected UTF-8 text, found byte 0xe4 at position 6"):
        read_text(tmp_path / "a.txt")


def test_limits_are_raised_through_the_environment(monkeypatch):
    assert limit("json_depth") == 64
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "128")
    assert limit("json_depth") == 128
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", "many")
    with pytest.raises(vt.BadParameter, match=r"VERITE_LIMIT_JSON_DEPTH: .*from 1 to 10,000, found 'many'"):
        limit("json_depth")


def test_file_beyond_the_limit_names_the_limit(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("12345")
    monkeypatch.setenv("VERITE_LIMIT_FILE_BYTES", "4")
    with pytest.raises(vt.ReadError, match="at most 4 bytes, found 5; raise the limit with VERITE_LIMIT_FILE_BYTES"):
        read_text(tmp_path / "a.txt")


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, found in ((tmp_path / "pipe", "a pipe"), (Path("/dev/null"), "a device"), (tmp_path, "a folder")):
        with pytest.raises(vt.ReadError, match=f"expected a file, found {found}"):
            read_text(path)


def test_new_files_have_the_mode_of_the_umask_which_is_never_set(tmp_path, monkeypatch):
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", None)  # it is the process's: other threads write meanwhile
        write_atomically(tmp_path / "a.json", "{}")
        with fill_folder(tmp_path / "folder") as folder:
            (folder / "b").write_text("b")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "a.json").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "folder").stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("depth", ["0", "10001", "-1", "9" * 5000])
def test_a_depth_that_no_reader_keeps_to_is_refused(depth, monkeypatch, tmp_path):
    (tmp_path / "a.json").write_text('{"images": [], "annotations": [], "categories": []}')
    monkeypatch.setenv("VERITE_LIMIT_JSON_DEPTH", depth)
    with pytest.raises(vt.BadParameter, match="VERITE_LIMIT_JSON_DEPTH: expected a whole number from 1 to 10,000"):
        vt.read(tmp_path / "a.json")


def test_lines_end_at_line_ends_alone(tmp_path):
    (tmp_path / "a.txt").write_bytes("a\u2028b\r\nc\x0cd\re\n\nf\n".encode())
    assert read_lines(tmp_path / "a.txt") == ["a\u2028b", "c\x0cd", "e", "", "f"]


def test_a_file_that_may_not_be_read_is_no_unknown_format(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("0 0.5 0.5 0.1 0.1\n")
    monkeypatch.setattr("verite.formats.format.Path.open", refuse_to_open)
    with pytest.raises(vt.ReadError, match=r"a\.txt: expected a readable file, found permission denied"):
        vt.read(path)


def test_a_folder_or_table_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "table.csv").write_text("item,truth,a,b\n1,1,1,0\n2,1,1,1\n")
    (tmp_path / "truth.json").write_text('{"images": [], "annotations": [], "categories": []}')
    monkeypatch.setattr(os, "scandir", refuse_to_open)
    for act in (lambda: vt.read(tmp_path), lambda: vt.read(tmp_path / "truth.json", images=tmp_path)):
        with pytest.raises(vt.ReadError, match="expected a readable folder, found permission denied"):
            act()
    monkeypatch.setattr(Path, "open", refuse_to_open)
    with pytest.raises(vt.ReadError, match=r"table\.csv: expected a readable file, found permission denied"):
        vt.rank(tmp_path / "table.csv", vt.annotation_errors.Bernoulli(0.1))


def refuse_to_open(path, *_, **__):
    raise PermissionError(13, "Permission denied", str(path))


@pytest.mark.parametrize("given", [{"names": "none.txt"}, {"images": "none"}, {"images": "a.json"}, {"names": "."}])
def test_names_and_images_that_are_not_needed_must_be_there_all_the_same(tmp_path, given):
    (tmp_path / "a.json").write_text('{"images": [], "annotations": [], "categories": []}')
    [(option, name)] = given.items()
    with pytest.raises(vt.ReadError, match="expected a"):
        vt.read(tmp_path / "a.json", **{option: tmp_path / name})


@pytest.mark.parametrize("place", ["expected", "found"])
def test_a_message_is_short_whatever_a_file_holds_and_says_what_to_do(place):
    """A file name in a list of images may be as long as the list."""
    said = str(
        ReadError("a.txt:3", **{"expected": "a name", "found": "none", place: "x" * 60_000}, remedy="shorten it")
    )
    assert said.startswith("a.txt:3: expected ")
    assert said.endswith("xxx…; shorten it" if place == "found" else "xxx…, found none; shorten it")
    assert len(said) < 700
    assert len(str(DataError("x" * 60_000))) == 2_000


def test_an_image_that_is_named_by_a_whole_file_is_cut_short(tmp_path):
    (tmp_path / "one.txt").write_text('{"a":' * 10_000 + "\n1\n10 10 20 20 0.9\n")
    with pytest.raises(VeriteError) as error:
        vt.read(tmp_path / "one.txt", format="wider", images=tmp_path)
    assert len(str(error.value)) < 1_000

"""The console and Python blocks of the documents are run, in order, and print what the documents say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")])

_BLOCK = re.compile(
    r"^```(console|python)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)
"""A block, and the `text` block behind it: what a Python block prints."""
_EXIT = re.compile(r"\(exit ([0-9]+)\)")


@dataclass
class Step:
    """A command and what is expected of it."""

    command: str
    output: list[str] = field(default_factory=list)
    exit_code: int = 0


def steps_of(text: str) -> Iterator[Step]:
    """The steps of a page; blocks that begin with `$ make`, and Python without `import weft`, are for people only."""
    for kind, block, printed in _BLOCK.findall(text):
        if kind == "console" and not block.startswith("$ make"):
            yield from _steps_of_block(block.splitlines())
        elif kind == "python" and block.startswith("import weft\n"):
            yield Step(f"python - <<'END OF EXAMPLE'\n{block}END OF EXAMPLE", printed.splitlines())


def _steps_of_block(lines: list[str]) -> Iterator[Step]:
    step: Step | None = None
    for line in lines:
        if line.startswith("$ "):
            if step:
                yield step
            step = Step(line[2:])
            continue
        assert step, f"a console block begins with a command, not with {line!r}"
        if (line == ">" or line.startswith("> ")) and not step.output:
            step.command += "\n" + line[2:]
        elif ending := _EXIT.fullmatch(line):
            step.exit_code = int(ending[1])
        else:
            step.output.append(line)
    if step:
        yield step


def is_as_expected(expected: list[str], found: str) -> bool:
    """`…` stands for anything within a line; a line of it alone for any number of lines."""
    pattern = "".join(r"(?:.*\n)*" if line == "…" else _line_pattern(line) for line in expected)
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in found.splitlines())) is not None


def _line_pattern(line: str) -> str:
    return ".*".join(re.escape(piece) for piece in line.split("…")) + r"\n"


def run(command: str, directory: Path) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WEFT_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), clean.get("PATH", os.defpath)])
    return subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env={**clean, "PATH": path, "COLUMNS": "80", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )


def follow(text: str, directory: Path) -> None:
    for step in steps_of(text):
        done = run(step.command, directory)
        told = f"$ {step.command}\nprinted (exit {done.returncode}):\n{done.stdout}"
        assert is_as_expected(step.output, done.stdout), told + "\nexpected:\n" + "\n".join(step.output)
        assert done.returncode == step.exit_code, told


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_the_examples_of_a_page_do_what_they_say(page: Path, tmp_path: Path) -> None:
    follow(page.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize(
    ("page", "least"), [("README.md", 8), ("docs/commands.md", 40), ("docs/tables.md", 6), ("docs/operations.md", 3)]
)
def test_the_pages_that_show_commands_have_examples(page: str, least: int) -> None:
    assert len(list(steps_of((PROJECT / page).read_text(encoding="utf-8")))) >= least


@pytest.mark.parametrize(
    ("expected", "found", "fits"),
    [
        ([], "", True),
        ([], "more\n", False),
        (["a"], "a\n", True),
        (["a"], "a", True),
        (["a"], "a  \n", True),
        (["a"], "ab\n", False),
        (["a…c"], "abbbc\n", True),
        (["a…c"], "ab\nc\n", False),
        (["a.c"], "abc\n", False),
        (["a", "…", "z"], "a\nb\nc\nz\n", True),
        (["a", "…", "z"], "a\nz\n", True),
        (["a", "…"], "a\n", True),
        (["a", "…", "z"], "a\nb\n", False),
        (["a", "", "b"], "a\n\nb\n", True),
    ],
)
def test_the_judge_of_examples_is_strict(expected: list[str], found: str, fits: bool) -> None:
    assert is_as_expected(expected, found) == fits


@pytest.mark.parametrize(
    "block",
    ["$ echo one\ntwo\n", "$ echo one\n", "$ false\n", "$ true\n(exit 1)\n", "$ exit 2\n(exit 1)\n", "no command\n"],
)
def test_a_wrong_example_is_noticed(block: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        follow(f"```console\n{block}```\n", tmp_path)


MANY_LINES = """
```console
$ cat > note <<'END'
> one
>
> two
> END
```

```console
$ cat note; exit 3
one

two
(exit 3)
$ echo three
three
```
"""


def test_steps_share_a_directory_and_may_have_many_lines(tmp_path: Path) -> None:
    follow(MANY_LINES, tmp_path)


def test_blocks_that_begin_with_make_are_not_run(tmp_path: Path) -> None:
    follow("```console\n$ make nothing\n$ false\n```\n", tmp_path)


PYTHON = """
```console
$ echo one > note
```

```python
import weft
print(open("note").read(), end="")
print(weft.__name__)
```

```text
one
w…t
```
"""


def test_python_runs_where_the_commands_ran_and_prints_the_text_behind_it(tmp_path: Path) -> None:
    assert len(list(steps_of(PYTHON))) == 2
    follow(PYTHON, tmp_path)


@pytest.mark.parametrize("ending", ["print(1)\n```\n", "1 / 0\n```\n", "print(1)\n```\n\n```text\n2\n```\n"])
def test_wrong_python_is_noticed(ending: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        follow(f"```python\nimport weft\n{ending}", tmp_path)


def test_python_that_does_not_import_weft_is_not_run(tmp_path: Path) -> None:
    follow("```python\n1 / 0\n```\n", tmp_path)


def test_the_readme_shows_python() -> None:
    steps = list(steps_of((PROJECT / "README.md").read_text(encoding="utf-8")))
    assert any(step.command.startswith("python - ") and step.output for step in steps)

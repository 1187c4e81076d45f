"""Progress output on stderr: a bar in a terminal, plain lines elsewhere."""

import os
import pty
import subprocess
import sys

CODE = """
import sys
from bert4so.common.progress import progress_bar, say
with progress_bar("ordering", 3) as advance:
    for k in range(3):
        advance(1, f"note {k}")
        say(f"line {k}")
    print("inside")
print("result", "rich" in sys.modules)
"""


def run_in_terminal(code):
    """Run code with a terminal as stderr; return its stdout and the terminal's content."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=slave, text=True
    )
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 4096):
            shown += part
    except OSError:  # raised on Linux when the other end is closed
        pass
    os.close(master)
    return process.communicate()[0], shown.decode()


def test_terminal_shows_a_bar_with_lines_above_it():
    printed, shown = run_in_terminal(CODE)
    assert printed == "inside\nresult True\n"
    assert "ordering" in shown
    assert "3/3" in shown
    assert "note 2" in shown
    assert [shown.count(f"line {k}") for k in range(3)] == [1, 1, 1]


def test_without_a_terminal_there_are_only_lines():
    process = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, check=True
    )
    assert (process.stdout, process.stderr) == (
        "inside\nresult False\n",
        "line 0\nline 1\nline 2\n",
    )


def test_nested_bars_keep_the_outer_bar():
    code = CODE.replace("    for k", '    with progress_bar("inner", 1): pass\n    for k')
    shown = run_in_terminal(code)[1]
    assert "3/3" in shown


def test_order_shows_the_number_of_documents_for_files_but_not_for_pipes(tmp_path):
    story = tmp_path / "stories.txt"
    story.write_text("Then they played.\nThe family went to the fair.\n\n" * 3)
    for source, total in (("story", "3/3"), ("'/dev/stdin'", "3/?")):
        code = f"""
import subprocess, sys
story = {str(story)!r}
pipe = subprocess.Popen(["cat", story], stdout=subprocess.PIPE).stdout
subprocess.run([sys.executable, "-m", "bert4so", "order", {source}], stdin=pipe, check=True)
"""
        printed, bar = run_in_terminal(code)
        assert printed.count("fair") == 3
        assert total in bar

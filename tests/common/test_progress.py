"""What a person sees of long work: in a terminal a bar, elsewhere lines, on stderr alone."""

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
    print("among it")
print("result", "rich" in sys.modules)
"""


def in_a_terminal(code):
    """What a process prints, and what it shows on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # as Linux says that the other end is closed
        pass
    os.close(ours)
    return process.communicate()[0], shown.decode()


def test_a_terminal_is_shown_a_bar_and_lines_above_it():
    printed, shown = in_a_terminal(CODE)
    assert printed == "among it\nresult True\n"
    assert "ordering" in shown
    assert "3/3" in shown
    assert "note 2" in shown
    assert [shown.count(f"line {k}") for k in range(3)] == [1, 1, 1]


def test_elsewhere_there_are_lines_only():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("among it\nresult False\n", "line 0\nline 1\nline 2\n")


def test_two_bars_one_in_the_other_are_left_as_they_were():
    code = CODE.replace("    for k", '    with progress_bar("inner", 1): pass\n    for k')
    shown = in_a_terminal(code)[1]
    assert "3/3" in shown


def test_the_documents_of_a_file_are_counted_and_a_pipe_is_read_once(tmp_path):
    story = tmp_path / "stories.txt"
    story.write_text("Then they played.\nThe family went to the fair.\n\n" * 3)
    for opened, total in (("story", "3/3"), ("'/dev/stdin'", "3/?")):
        code = f"""
import subprocess, sys
story = {str(story)!r}
pipe = subprocess.Popen(["cat", story], stdout=subprocess.PIPE).stdout
subprocess.run([sys.executable, "-m", "bert4so", "order", {opened}], stdin=pipe, check=True)
"""
        printed, bar = in_a_terminal(code)
        assert printed.count("fair") == 3
        assert total in bar

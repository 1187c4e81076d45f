"""The torture suite: commands are killed, starved and fed damaged files, thousands of times.

    PYTHONPATH=tests python -m torture --out results/torture.json

A command must either succeed with everything answered correctly, or write one line to stderr and
exit with code 2; never a traceback, a hang, a silent loss, or a changed file of the user's.
"""

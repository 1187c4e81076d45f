"""Run the torture suite: PYTHONPATH=tests python -m torture --out results/torture.json."""

import argparse
import json
import sys
from pathlib import Path


def main() -> None:
    """Run all kinds, print the table, and exit with 1 if anything failed."""
    # Late: the processes that this one starts import this file too.
    from bert4so.common.machine import cores, machine
    from torture.kinds import KINDS
    from torture.parallel import run_kinds
    from torture.table import facts, table

    args = _parser(list(KINDS), cores()).parse_args()
    trials = {name: _numbers(args, KINDS[name].trials) for name in args.only or KINDS}
    tallies = run_kinds(trials, args.seed, args.jobs)
    sys.stdout.write(table(tallies))
    if args.out:
        command = " ".join(["PYTHONPATH=tests python -m torture", *sys.argv[1:]])
        about = {"command": command, "machine": machine(), "seed": args.seed, "share": args.share}
        args.out.write_text(json.dumps({**about, "kinds": facts(tallies)}, indent=1) + "\n")
    sys.exit(any(tally.failures for tally in tallies))


def _parser(kinds: list[str], cores: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="torture", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=kinds, help="Run these kinds.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="Run this share of the trials.")
    parser.add_argument("--number", type=int, help="Run the trial of this number alone.")
    parser.add_argument("--jobs", type=int, default=cores, help="Run this many kinds at once.")
    parser.add_argument("--out", type=Path, help="Write the results there, as JSON.")
    return parser


def _numbers(args: argparse.Namespace, trials: int) -> range:
    if args.number is not None:
        return range(args.number, args.number + 1)
    return range(max(1, round(trials * args.share)))


if __name__ == "__main__":
    main()

"""Time of `import notebook_agents`, next to its floors, in one run.

Usage: ``python benchmarks/import_time.py [rounds]``
"""

import statistics
import subprocess
import sys
import time

CASES = {
    "bare interpreter": "pass",
    "import notebook_agents": "import notebook_agents",
    "import httpx, pydantic": "import httpx, pydantic",
    "ready to chat": "from notebook_agents import Agent; Agent('openai:gpt-6-luna')",
}


def measure(rounds: int) -> dict[str, float]:
    """Time each case in a fresh interpreter, the cases taking turns.

    Parameters
    ----------
    rounds : int
        How often each case is timed.

    Returns
    -------
    dict of str to float
        Median wall time of each case, in milliseconds.
    """
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for turn in range(rounds + 1):
        for name, code in CASES.items():
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            if turn:  # the first one warms the disk and the byte code
                times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> None:
    """Print one line for each case and the ratio to its floor."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    medians = measure(rounds)
    bare = medians.pop("bare interpreter")
    print(f"bare interpreter: {bare:.0f} ms; the rest is over it, {rounds} rounds")
    for name, value in medians.items():
        print(f"{name:24} {value - bare:6.1f} ms")
    over = {name: value - bare for name, value in medians.items()}
    ready, floor = over["ready to chat"], over["import httpx, pydantic"]
    print(f"ready to chat is {ready / floor:.2f} x import httpx, pydantic (target 1.3)")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Everything that the closed loop asks of a workload, on the standard library alone: it plays, learns and is measured.

    ringrift workload check -- python3 examples/workloads/nim.py

The game is Nim: four heaps, 21 sticks for `nim21_2p`, each move takes any number of sticks from one heap, and whoever takes
the last one wins. The model is a table of how good it is to leave a position to the other side. It is small enough to
learn in seconds, and there is a perfect player to measure it by.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
import ringrift_workload
from ringrift_workload import BadInput

CONFIG = "nim21_2p"
HEAPS = 4

workload = ringrift_workload.Workload("example-nim", "1.0", deterministic=True)


def sticks_of(config_key):
    found = re.fullmatch(r"nim(\d{1,2})_2p", config_key)
    if not found or not 8 <= int(found[1]) <= 40:
        raise BadInput(f"{config_key} is no game of mine; I play nim8_2p to nim40_2p")
    return int(found[1])


def positions(sticks, heaps=HEAPS, most=None):
    """All ways to lay so many sticks into heaps, the largest first."""
    most = sticks if most is None else most
    if heaps == 0:
        return [()] if sticks == 0 else []
    return [(top, *rest) for top in range(min(sticks, most), -1, -1) for rest in positions(sticks - top, heaps - 1, top)]


def openings_of(config_key, random):
    """Every position that is worth a game, in an order that follows from the randomness."""
    sticks = sticks_of(config_key)
    found = [each for count in range(sticks, sticks // 2 - 1, -1) for each in positions(count)]
    random.shuffle(found)
    return found


def moves_from(heaps):
    """The positions that one move leads to, without repeats."""
    left = {
        tuple(sorted((*heaps[:heap], size, *heaps[heap + 1 :]), reverse=True))
        for heap in range(HEAPS)
        for size in range(heaps[heap])
    }
    return sorted(left)


class Table:
    """What leaving a position is worth, from 0 to 1; one that was never seen is worth a half."""

    def __init__(self, values=None):
        self.values = values or {}

    @classmethod
    def read(cls, path, config_key):
        try:
            with open(path, encoding="utf-8") as file:
                model = json.load(file)
            if model["config_key"] != config_key:
                raise BadInput(f"{path} plays {model['config_key']}, not {config_key}")
            values = {tuple(map(int, key.split("."))): float(value) for key, value in model["table"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadInput(f"{path} is no model: {error!r}") from error
        if not all(0 <= value <= 1 for value in values.values()):
            raise BadInput(f"{path} holds values that are none from 0 to 1")
        return cls(values)

    def text(self, config_key):
        table = {".".join(map(str, key)): value for key, value in sorted(self.values.items())}
        return json.dumps({"config_key": config_key, "table": table}, separators=(",", ":"))

    def choose(self, left, random):
        best = max(self.values.get(each, 0.5) for each in left)
        return random.choice([each for each in left if self.values.get(each, 0.5) == best])


class Baseline:
    """Opponents that never change: one that plays anything, and one that never errs."""

    def __init__(self, name):
        if name not in ("random", "perfect"):
            raise BadInput(f'there is no baseline "{name}"; I know random and perfect')
        self.perfect = name == "perfect"

    def choose(self, left, random):
        def lost(heaps):
            a, b, c, d = heaps
            return a ^ b ^ c ^ d == 0

        good = [each for each in left if lost(each)] if self.perfect else []
        return random.choice(good or left)


def play(players, heaps, random, explore=0.0):
    """One game; gives the positions that were left, and the seat that won."""
    left, seat = [], 0
    while any(heaps):
        choices = moves_from(heaps)
        heaps = random.choice(choices) if random.random() < explore else players[seat].choose(choices, random)
        left.append(heaps)
        seat = 1 - seat
    return left, 1 - seat


def at_least(job, name, default, least):
    value = job.parameter(name, default, int)
    if value < least:
        raise BadInput(f"{name} is {value}, and is to be {least} at least")
    return value


@workload.kind(
    "selfplay",
    example={"config_key": CONFIG, "parameters": {"games": 20}, "long_parameters": {"games": 10_000_000}},
)
def selfplay(job):
    """Game n of a seed is the same game in whichever job it is played."""
    games, first = at_least(job, "games", 20, 1), at_least(job, "first_game", 0, 0)
    explore = job.parameter("explore", 0.25, float)
    table = Table.read(job.input("model"), job.config_key) if job.has_input("model") else Table()
    rows = plies = first_wins = 0
    openings = openings_of(job.config_key, job.random)
    with job.create("samples.jsonl", kind="samples", meta={"format": "jsonl"}) as file:
        for game in range(games):
            job.progress(game, total=games, metrics={"games": game})
            random = job.random_of(first + game)
            left, winner = play((table, table), random.choice(openings), random, explore)
            for ply, heaps in enumerate(left):
                row = {"game": game, "ply": ply, "left": heaps, "result": int(ply % 2 == winner)}
                file.write((json.dumps(row, separators=(",", ":")) + "\n").encode())
                rows += 1
            plies += len(left)
            first_wins += 1 - winner
    return {"games": games, "rows": rows, "plies_sum": plies, "outcome_0": first_wins, "outcome_1": games - first_wins}


def read_rows(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    row = json.loads(line)
                    heaps = tuple(int(size) for size in row["left"])
                    if len(heaps) != HEAPS or row["result"] not in (0, 1):
                        raise ValueError("its position or its result is none of this game")
                    rows.append((heaps, row["result"]))
                except (ValueError, KeyError, TypeError) as error:
                    raise BadInput(f"line {number} of {path} is no training row: {error!r}") from error
    return rows


@workload.kind(
    "training",
    example={
        "config_key": CONFIG,
        "parameters": {"epochs": 2},
        "long_parameters": {"epochs": 100_000_000},
        "inputs": [{"name": "samples-0000", "artifact_kind": "samples"}],
    },
)
def training(job):
    """Moves each value towards what came of it; goes on from the checkpoint of the last job, if there is one."""
    sticks_of(job.config_key)
    if job.parameter("fresh", False, bool):
        job.progress(0, total=1)
        for name in ("model", "checkpoint"):
            job.write(f"{name}.json", Table().text(job.config_key), kind=name)
        return {"fresh": 1, "steps": 0, "rows": 0}
    epochs, rate = at_least(job, "epochs", 4, 1), job.parameter("rate", 0.1, float)
    rows = read_rows(job.inputs_like("samples"))
    if not rows:
        raise BadInput("there is nothing to train on: give inputs whose names start with samples")
    start = next((name for name in ("checkpoint", "model") if job.has_input(name)), None)
    table = Table.read(job.input(start), job.config_key) if start else Table()
    loss = 0.0
    for epoch in range(epochs):
        job.random.shuffle(rows)
        total = 0.0
        for number, (heaps, result) in enumerate(rows):
            if number % 256 == 0:
                job.progress(epoch + number / len(rows), total=epochs, metrics={"loss": loss} if epoch else None)
            value = table.values.get(heaps, 0.5)
            total += (result - value) ** 2
            table.values[heaps] = value + rate * (result - value)
        loss = total / len(rows)
    for name in ("model", "checkpoint"):
        job.write(f"{name}.json", table.text(job.config_key), kind=name, rows=len(rows), meta={"loss": loss})
    return {"loss": loss, "rows": len(rows), "steps": epochs * len(rows)}


@workload.kind(
    "evaluation",
    example={
        "config_key": CONFIG,
        "parameters": {"blocks": 4, "opponent": "random"},
        "long_parameters": {"blocks": 10_000_000, "opponent": "random"},
        "inputs": [{"name": "candidate", "artifact_kind": "model"}],
    },
)
def evaluation(job):
    """Block n of a seed is one opening, played with the candidate in both seats; results go out as pairs."""
    blocks, first = at_least(job, "blocks", 10, 1), at_least(job, "first_block", 0, 0)
    names = {role: job.parameter(role, role, str) for role in ("candidate", "opponent")}
    candidate, opponent = (
        Table.read(job.input(role), job.config_key) if job.has_input(role) else Baseline(name)
        for role, name in names.items()
    )
    openings = openings_of(job.config_key, job.random)
    wins, untold, games, used = 0, [], set(), set()
    for block in range(first, first + blocks):
        job.progress(2 * (block - first), total=2 * blocks, metrics={"games": 2 * (block - first)})
        opening = block % len(openings)
        used.add(opening)
        scores = []
        for seat in (0, 1):
            players = (candidate, opponent) if seat == 0 else (opponent, candidate)
            left, winner = play(players, openings[opening], job.random_of(block, seat))
            games.add((opening, tuple(left)))
            scores.append(int(winner == seat))
        wins += sum(scores)
        untold.append({"opening": opening, "scores": scores})
        if len(untold) == 8:
            job.pairs(blocks=untold, **names)
            untold = []
    job.pairs(blocks=untold, **names)
    return {
        "games": 2 * blocks,
        "wins": wins,
        "draws": 0,
        "losses": 2 * blocks - wins,
        "score": wins / (2 * blocks),
        # So small a game repeats positions; what must not repeat is a whole game.
        "redundancy": 1 - len(games) / (2 * blocks),
        "blocks": blocks,
        "distinct_openings": len(used),
    }


def moves_by_name(heaps):
    """The moves from a position as people type them: `7-3` takes three sticks from a heap of seven."""
    named = {}
    for heap, size in enumerate(heaps):
        for taken in range(1, size + 1):
            left = (*heaps[:heap], size - taken, *heaps[heap + 1 :])
            named[f"{size}-{taken}"] = tuple(sorted(left, reverse=True))
    return named


@workload.kind("play", example={"config_key": CONFIG, "parameters": {"moves": [], "reply": True, "opponent": "random"}})
def play_with_a_person(job):
    """One question of `ringrift play`: where the game is after these moves and, if asked, what the opponent plays."""
    job.progress(0, total=1)
    heaps = openings_of(job.config_key, job.random)[0]
    moves = job.parameter("moves", [], list)
    for move in moves:
        if move not in moves_by_name(heaps):
            raise BadInput(f"{move!r} is no move from {heaps}")
        heaps = moves_by_name(heaps)[move]
    chosen = None
    if job.parameter("reply", False, bool):
        player = (
            Table.read(job.input("model"), job.config_key)
            if job.has_input("model")
            else Baseline(job.parameter("opponent", "random", str))
        )
        named = moves_by_name(heaps)
        heaps = player.choose(sorted(set(named.values())), job.random_of(len(moves)))
        chosen = next(move for move, left in named.items() if left == heaps)
    plies = len(moves) + (chosen is not None)
    job.position(
        title=f"Nim with {sticks_of(job.config_key)} sticks at most",
        rules="Take sticks from one heap: 7-3 takes three from a heap of seven. Whoever takes the last stick wins.",
        board="\n".join(f"{size:2}  {'|' * size}" for size in heaps if size) or "(no sticks)",
        turn=plies % 2,
        legal_moves=sorted(moves_by_name(heaps)),
        winner=None if any(heaps) else 1 - plies % 2,
        move=chosen,
    )


workload.run()

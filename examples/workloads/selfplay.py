#!/usr/bin/env python3
"""Self-play as a workload: games of noughts and crosses, as JSON lines that trainer.py reads.

    ringrift workload check -- python3 examples/workloads/selfplay.py

A row is a position as the player to move sees it (1 own, -1 the other's, 0 empty), the move that was played, and how the
game ended for that player.
"""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
import ringrift_workload

workload = ringrift_workload.Workload("example-selfplay", "1.0", deterministic=True, config_keys=["tictactoe_2p"])

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def wins(board, player):
    return any(all(board[cell] == player for cell in line) for line in LINES)


def play_game(random):
    """One game; a player who can win at once does so, and otherwise plays anywhere."""
    board, player, moves = [0] * 9, 1, []
    while 0 in board:
        free = [cell for cell in range(9) if board[cell] == 0]
        winning = [cell for cell in free if wins(board[:cell] + [player] + board[cell + 1 :], player)]
        move = winning[0] if winning else random.choice(free)
        moves.append((player, [value * player for value in board], move))
        board[move] = player
        if wins(board, player):
            return moves, player
        player = -player
    return moves, 0


@workload.kind(
    "selfplay",
    example={"config_key": "tictactoe_2p", "parameters": {"games": 50}, "long_parameters": {"games": 10_000_000}},
)
def selfplay(job):
    games = job.parameter("games", 100, int)
    if games < 1:
        raise ringrift_workload.BadInput(f"{games} games are none")
    rows = results = 0
    with job.create("samples.jsonl", kind="samples", meta={"format": "jsonl"}) as file:
        for game in range(games):
            job.progress(game, total=games)
            moves, winner = play_game(job.random)
            for player, board, move in moves:
                row = {"board": board, "move": move, "result": winner * player}
                file.write((json.dumps(row, separators=(",", ":")) + "\n").encode())
                rows += 1
            results += winner
    return {"games": games, "rows": rows, "first_player_score": 0.5 + results / games / 2}


workload.run()

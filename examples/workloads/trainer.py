#!/usr/bin/env python3
"""Training as a workload, on the standard library alone: what is a position worth to the player to move?

    ringrift workload check -- python3 examples/workloads/trainer.py

It reads training rows as JSON lines (as selfplay.py writes them) or as a NumPy archive (as the built-in games write
them), fits one weight for each code of each cell by stochastic gradient descent, and writes the model as JSON.
"""

import ast
import io
import json
import math
import os
import struct
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "clients", "python"))
import ringrift_workload
from ringrift_workload import BadInput

workload = ringrift_workload.Workload("example-trainer", "1.0", deterministic=True)

TYPES = {"|u1": "B", "<u2": "H", "<u4": "I", "<f4": "f", "<f8": "d"}


def read_npy(data):
    """An array of a NumPy file, as its shape and a flat list; reads the few types that training rows have."""
    file = io.BytesIO(data)
    if file.read(6) != b"\x93NUMPY":
        raise BadInput("an array of the archive is no NumPy file")
    major, _ = file.read(2)
    length = struct.unpack("<H" if major == 1 else "<I", file.read(2 if major == 1 else 4))[0]
    header = ast.literal_eval(file.read(length).decode("latin1"))
    if header["fortran_order"] or header["descr"] not in TYPES:
        raise BadInput(f"arrays of type {header['descr']} are not read here")
    count = math.prod(header["shape"])
    return header["shape"], list(struct.unpack(f"<{count}{TYPES[header['descr']]}", file.read()))


def read_npz(path):
    with zipfile.ZipFile(path) as archive:
        (rows, cells), codes = read_npy(archive.read("codes.npy"))
        (_, players), outcome = read_npy(archive.read("outcome.npy"))
    return [(codes[row * cells : (row + 1) * cells], outcome[row * players]) for row in range(rows)]


def read_jsonl(path):
    rows = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                row = json.loads(line)
                rows.append(([value + 1 for value in row["board"]], (row["result"] + 1) / 2))
            except (ValueError, KeyError, TypeError) as error:
                raise BadInput(f"line {number} of {path} is no training row: {error!r}") from error
    return rows


def read_rows(path):
    """Rows as (codes of the cells, what the player to move got from 0 to 1)."""
    rows = read_npz(path) if zipfile.is_zipfile(path) else read_jsonl(path)
    if not rows:
        raise BadInput(f"{path} holds no rows")
    return rows


class Model:
    """The value of a position: a logistic function of one weight for each code of each cell."""

    def __init__(self, cells, codes):
        self.cells, self.codes = cells, codes
        self.weights = [0.0] * (cells * codes + 1)

    def features(self, board):
        return [cell * self.codes + code for cell, code in enumerate(board)] + [self.cells * self.codes]

    def value(self, features):
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, sum(self.weights[f] for f in features)))))

    def learn(self, board, target, rate):
        features = self.features(board)
        value = self.value(features)
        for feature in features:
            self.weights[feature] += rate * (target - value)
        return -(target * math.log(max(value, 1e-12)) + (1 - target) * math.log(max(1 - value, 1e-12)))


@workload.kind(
    "training",
    example={
        "config_key": "tictactoe_2p",
        "parameters": {"epochs": 3},
        "long_parameters": {"epochs": 100_000_000},
        "inputs": [{"name": "samples", "path": os.path.join(HERE, "samples.jsonl")}],
    },
)
def train(job):
    epochs = job.parameter("epochs", 5, int)
    rate = job.parameter("rate", 0.02, float)
    rows = read_rows(job.input("samples"))
    model = Model(len(rows[0][0]), max(max(board) for board, _ in rows) + 1)
    loss = 0.0
    for epoch in range(epochs):
        job.random.shuffle(rows)
        total = 0.0
        for number, (board, target) in enumerate(rows):
            if number % 256 == 0:
                job.progress(epoch + number / len(rows), total=epochs, metrics={"loss": loss} if epoch else None)
            total += model.learn(board, target, rate)
        loss = total / len(rows)
        print(f"epoch {epoch + 1}: loss {loss:.4f}")  # to the log: standard output belongs to the protocol
    text = json.dumps({"cells": model.cells, "codes": model.codes, "weights": model.weights})
    job.write("model.json", text, kind="model", rows=len(rows), meta={"loss": loss})
    return {"loss": loss, "rows": len(rows), "epochs": epochs}


workload.run()

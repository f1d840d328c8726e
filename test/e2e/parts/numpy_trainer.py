#!/usr/bin/env python3
"""A trainer as people write them: NumPy reads the rows, computes, and writes the model; its numbers go out as they are."""

import numpy as np
import ringrift_workload
from ringrift_workload import BadInput

workload = ringrift_workload.Workload("numpy-trainer", np.__version__, deterministic=True)


@workload.kind("training")
def train(job: ringrift_workload.Job) -> ringrift_workload.Metrics:
    with np.load(job.input("samples")) as rows:
        codes, outcome = rows["codes"].astype(np.float32), rows["outcome"][:, 0].astype(np.float32)
    if len(codes) == 0:
        raise BadInput("no rows")
    random = np.random.default_rng(job.seed)
    weights = random.normal(0, 0.01, codes.shape[1]).astype(np.float32)
    steps = job.parameter("steps", 200, int)
    loss = np.float32(0)
    for step in range(steps):
        error = codes @ weights - outcome
        loss = np.mean(error**2)
        weights -= np.float32(0.02) * (codes.T @ error) / np.float32(len(codes))
        job.progress(np.int64(step), total=steps, metrics={"loss": loss})
    with job.create("model.npz", kind="model", rows=len(codes), meta={"norm": np.linalg.norm(weights)}) as file:
        np.savez(file, weights=weights)
    return {"loss": loss, "rows": np.int64(len(codes)), "weight": weights[0]}


workload.run()

"""A workload that fails in the ways that programs in Python do, as its parameters say."""

import errno
import math
import os
import sys
import time

import ringrift_workload

workload = ringrift_workload.Workload("faults", "1.0")


class Scalar:
    """Like a number of NumPy."""

    def item(self):
        return 0.5


@workload.kind("training")
def train(job):
    how = job.parameter("how")
    if how == "bad_input":
        job.parameter("epochs", kind=int)
    if how == "missing_input":
        job.input("samples")
    if how == "exception":
        raise RuntimeError("CUDA error: device-side assert triggered")
    if how == "memory":
        raise MemoryError("too much")
    if how == "disk":
        raise OSError(errno.ENOSPC, "No space left on device")
    if how == "nan":
        return {"loss": math.nan}
    if how == "scalar":
        job.progress(Scalar(), metrics={"loss": Scalar()})
        return {"loss": Scalar()}
    if how == "prints":
        print("printed by Python")
        os.system("echo printed by a shell")
        sys.stdout.flush()
    if how == "escapes":
        job.write("../outside.txt", b"x", kind="model")
    if how == "half_written":
        with job.create("model.bin", kind="model") as file:
            file.write(b"half")
            raise RuntimeError("the other half is missing")
    if how == "checkpoint":
        try:
            while True:
                job.progress(1)
                time.sleep(0.01)
        except ringrift_workload.Cancelled:
            job.write("checkpoint.bin", b"so far", kind="checkpoint")
            raise
    if how == "broad_except":
        while True:
            try:
                job.progress(1)
                time.sleep(0.01)
            except Exception:
                pass
    if how == "exit":
        sys.exit(64)
    return {"ok": 1}


workload.run()

#!/usr/bin/env python3
"""A consumer in Python: hears events of a TypeScript main process, answers with its own, and fails once on purpose.

05-python-consumer/main.ts stands for your running system here; in life it is `ringrift up`.
"""

import pathlib
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
# In a program of your own: copy ringrift.py next to it.
sys.path.insert(0, str(HERE.parent / "clients" / "python"))
sys.dont_write_bytecode = True
import ringrift  # noqa: E402

main = subprocess.Popen(["node", str(HERE / "05-python-consumer" / "main.ts")], stdout=subprocess.PIPE, text=True)
data_dir = main.stdout.readline().strip()

client = ringrift.connect(data_dir, source="example")
done = threading.Event()


def on_games(event):
    """Called for one event after the other. Returning acknowledges the event; raising brings it again."""
    games = event.payload["total_games"]
    if games == 200 and event.attempt == 1:
        raise RuntimeError("not this time")
    print(f"python: {event.payload['config_key']} has {games} games (try {event.attempt})")
    # Published together with the acknowledgement, as an effect of this event.
    export = {"config_key": event.payload["config_key"], "job_id": f"export-{event.seq}", "games": games}
    event.emit("NPZ_EXPORT_STARTED", export)
    if games == 300:
        done.set()


with client.subscribe("py-exporter", ["NEW_GAMES_AVAILABLE"], on_games, start="earliest"):
    client.publish("NEW_GAMES_AVAILABLE", {"config_key": "hex8_2p", "new_games": 100, "total_games": 300})
    if not done.wait(60):
        sys.exit("the events did not come")

for event in client.history("NPZ_EXPORT_STARTED"):
    cause = client.request("GET", f"/v1/events/{event.parent_event_id}")["event"]
    print(f"python: the export of {event.payload['games']} games follows from {cause['type']} of {cause['source'].split('/')[-1]}")
print(f"python: {client.dead_letters.get_pending_count()} dead letters")

client.close()
main.terminate()
sys.exit(main.wait())

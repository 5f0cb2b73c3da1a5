"""Runs the Python client for tests: reads what to do as JSON from standard input, and prints each end of an event as a line of JSON."""

import importlib.util
import json
import sys
import threading
import time

task = json.loads(sys.stdin.readline())
spec = importlib.util.spec_from_file_location("ipid", task["client"])
ipid = importlib.util.module_from_spec(spec)
sys.modules["ipid"] = ipid
spec.loader.exec_module(ipid)

printing = threading.Lock()


def say(line):
    with printing:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def failed(ends):
    for event, error in ends:
        end = {"id": event.get("event_id") if isinstance(event, dict) else None, "code": error.code, "mayBeStored": error.may_be_stored}
        say({"failed": {**end, "errors": list(error.errors), "text": repr(error)}})


client = ipid.Client(
    task["key"],
    task["url"],
    on_delivered=lambda results: say({"delivered": [result["event_id"] for result in results]}),
    on_failed=failed,
    **task["options"],
)
for i, event in enumerate(task["events"]):
    say({"taken": client.track(event)})
    if task["pauseEvery"] and i % task["pauseEvery"] == 0:
        time.sleep(0.02)
if task["end"] == "close":
    client.close(task["closeSeconds"])
elif task["end"] == "exit":
    sys.exit(0)

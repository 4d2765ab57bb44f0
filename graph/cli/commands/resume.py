"""`baton resume`: go on after a crash, a pause, or with answers given."""

from graph.cli.job import going_on
from graph.cli.options import AsJson, Db, Thread


def resume(thread: Thread, db: Db = None, as_json: AsJson = False) -> int:
    """Go on with a run after a crash, a pause, or with answers given."""
    job = going_on(thread, db, as_json=as_json)
    return job.carry_out(lambda sup, on_event: sup.resume(thread, on_event=on_event))

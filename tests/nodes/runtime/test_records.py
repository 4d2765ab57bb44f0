"""What can start and what is at work, counted as it changes, is what one would find by looking at all tasks."""

from hypothesis import given
from hypothesis import strategies as st

from nodes.policy.readiness import is_busy
from nodes.runtime.records import Records
from state.plan import Task
from state.record import TaskStatus
from tests.builders import make_record, make_task

STATUSES: list[TaskStatus] = ["pending", "running", "parked", "done", "failed"]


@st.composite
def dags(draw: st.DrawFn) -> list[Task]:
    """Tasks in an order that need not be that of their dependencies."""
    count = draw(st.integers(1, 8))
    edges = [draw(st.sets(st.integers(0, n - 1))) if n else set() for n in range(count)]
    tasks = [make_task(f"t{n}", *(f"t{m}" for m in sorted(edges[n]))) for n in range(count)]
    return draw(st.permutations(tasks))


@given(dags(), st.data())
def test_it_is_busy_whenever_looking_at_all_tasks_would_say_so(tasks: list[Task], data: st.DataObject) -> None:
    records = Records(make_record(task) for task in tasks)
    for n in range(data.draw(st.integers(0, 20))):
        name = data.draw(st.sampled_from(sorted(records)))
        if data.draw(st.booleans()):
            records[name] = records[name].model_copy(update={"status": data.draw(st.sampled_from(STATUSES))})
        else:
            recruit = make_record(make_task(f"{name}.r{n}"), data.draw(st.sampled_from(STATUSES)))
            needed_by = sorted(data.draw(st.sets(st.sampled_from(sorted(records)), max_size=2)))
            records[recruit.id] = recruit.model_copy(update={"recruited_by": name, "needed_by": needed_by})
        waiting = {record.id for record in records.values() if data.draw(st.booleans())}
        assert records.is_busy(waiting) == is_busy(records.values(), waiting)


def test_who_waits_for_a_task_waits_for_those_that_it_recruited() -> None:
    records = Records(make_record(task) for task in (make_task("a"), make_task("b", "a")))
    records["a.r1"] = make_record(make_task("a.r1")).model_copy(update={"recruited_by": "a"})
    records["a"] = records["a"].model_copy(update={"status": "done"})
    assert not records.is_ready("b")

    records["a.r1"] = records["a.r1"].model_copy(update={"status": "failed"})
    assert records.is_ready("b")

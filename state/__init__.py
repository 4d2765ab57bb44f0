"""What is true: the nouns of a run, as plain data and their rules. No I/O, no model, no clock.

Glossary (one word per concept, in all three packages):

- **run**: one request being worked on, on one *thread* (LangGraph's word for a durable conversation).
- **plan**: the tasks of a run and how they depend on each other; **task**: one piece of work for one agent.
- **record**: a task together with what became of it (agent, scores, status, outcome).
- **agent**: somebody who can do tasks; **team**: the agents a run may use;
  **recruit**: a task and its worker added on the way.
- **brief**: what an agent gets to know about its task; **desk**: what it may do while it works.
- **worker**: an agent that another one **delegates** a part of its task to, and gets the result of; **hand-over**: a
  task that goes to another agent for good; **escalation**: who takes over where an agent failed or reached a limit.
- **nested**: a supervisor that is an agent of another one; **path**: the agents from the outermost to the one at work.
- **outcome**: what came of one task; **claim**: one statement in it; **citation**: where in the sources a claim stands.
- **doubt**: why something that was delivered is no plain success.
- **artifact**: a file that an agent wrote; **report**: the one answer put together at the end.
- **approval**: a question to a human; **decision**: the answer to it; **parked**: waiting for one.
- **side effect**: what an agent does to the outside world; **ledger**: where each is written down before and after;
  **rollback**: undoing side effects, newest first.
- **takeover**: a human takes the wheel; **hand back**: gives it back, with results and a changed plan.
- **phase**: where the run is; **mode**: how much machinery it uses; **oversight**: how closely a human watches.
- **event**: something that happened, numbered; **signal**: something that somebody wants to happen.
"""

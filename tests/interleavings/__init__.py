"""Checks what several workers, a reaper and a client can do to the same rows, in every possible order.

PostgreSQL decides what a statement sees while others are in progress, so the real statements run, each actor on its own
connection and under the locks it takes. An actor stops before each commit and between any two of its steps; there
another actor continues, or the actor is killed. All orders are explored; of those that lead to the same state, only one
is continued. In each state all actors are also killed at once, and a last worker finishes what is left; then the
account is checked.

``python -m tests.interleavings`` explores all scenes; the tests explore the small ones.
"""

"""What several workers, a reaper and a client can do to the same rows, in every order that there is.

PostgreSQL decides what a statement sees while others are under way, so the statements themselves are run, each actor on
a connection of its own and under the locks that it takes. An actor stops before each commit and between any two of its
steps; there another goes on, or the actor is killed. All orders are gone through, those that lead to the same state
once. In each state everybody is gone at once, too, and a last worker finishes what is left: then the account is made
up.

``python -m tests.interleavings`` goes through all scenes; the tests through the small ones.
"""

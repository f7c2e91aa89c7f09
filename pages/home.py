"""Home: the state of the workspace in one look, and what to do next."""

from pages.shared import shell

shell.begin("pages/home.py")
shell.header(
    "Home",
    "Nothing tested yet. Start with a table.",
    "Needed: one column for each dimension of the ODD, such as weather or time, and a score from 0 to 1. One row an answer, or a slice.",
)
shell.empty("Here you will see how much of the ODD was tested, which gap to test first, and why.")
